"""Variants of a manifest: the tools of one server under different flags, each with a digest.

The digest covers the names and input schemas of the tools as the server lists them, without descriptions. The name
that a server reports does not identify it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from evalward.errors import canonical_json
from evalward.policy.fields import AS_DICT, FROZEN, Sha256, ToolName

EVERY_TOOL: Final = "*"
"""In ``Variant.without``: every tool that has no entry of its own."""
_FOR_READERS: Final = frozenset({"description", "title", "$schema", "$comment", "examples"})
_NAMED_SCHEMAS: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_DATA: Final = frozenset({"default", "enum", "const"})

_Names = Annotated[Mapping[ToolName | StrictStr, tuple[StrictStr, ...]], FROZEN, AS_DICT]


class Variant(BaseModel):
    """The tools of a server that was started with ``flags``.

    ``tools`` are their names, None: all of the manifest's. ``without`` names properties that a tool, or every other
    tool (``*``), lacks there, ``required`` those that are required only there. ``digest`` is ``list_digest`` of the
    server's list.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
    version: Annotated[StrictStr, Field(max_length=64)] = ""
    flags: Annotated[StrictStr, Field(max_length=512)] = ""
    tools: tuple[ToolName, ...] | None = None
    without: _Names = Field(default_factory=dict)
    required: _Names = Field(default_factory=dict)
    digest: Sha256

    def schema_of(self, tool: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return the input schema that ``tool`` has in this variant."""
        absent = self.without.get(tool, self.without.get(EVERY_TOOL, ()))
        properties = schema.get("properties", {})
        required = [*schema.get("required", ()), *self.required.get(tool, ())]
        found = {
            **schema,
            "properties": {name: each for name, each in properties.items() if name not in absent},
            "required": list(dict.fromkeys(name for name in required if name not in absent)),
        }
        return {key: value for key, value in found.items() if key in schema or (key == "required" and value)}


def interface_of(schema: Any) -> Any:
    """Return a JSON Schema without annotations, and with its required names sorted."""
    if isinstance(schema, list):
        return [interface_of(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS and isinstance(value, dict):
            found[key] = {name: interface_of(each) for name, each in value.items()}
        elif key == "required" and isinstance(value, list):
            if value:
                found[key] = sorted(value)
        elif key in _DATA:
            found[key] = value
        elif key not in _FOR_READERS:
            found[key] = interface_of(value)
    return found


def schema_digest(schema: Mapping[str, Any]) -> str:
    """Return the lower-case hex SHA-256 of the canonical JSON of the interface of ``schema``."""
    return hashlib.sha256(canonical_json(interface_of(dict(schema)))).hexdigest()


def list_digest(schemas: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the lower-case hex SHA-256 over tools' names and schemas, independent of their order."""
    digests = {name: schema_digest(schema) for name, schema in schemas}
    return hashlib.sha256(canonical_json(digests)).hexdigest()
