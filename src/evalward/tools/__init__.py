"""The manifest of tools: how a tool call is routed, checked and described (contract.md §4)."""

from evalward.tools.kinds import FieldKind
from evalward.tools.manifest import Manifest
from evalward.tools.manifest_file import ManifestError, parse_manifest
from evalward.tools.manifest_source import load_manifest
from evalward.tools.route import CallField, Route, route
from evalward.tools.strict_json import read_arguments
from evalward.tools.tool import OperationType, Tool, When

__all__ = [
    "CallField",
    "FieldKind",
    "Manifest",
    "ManifestError",
    "OperationType",
    "Route",
    "Tool",
    "When",
    "load_manifest",
    "parse_manifest",
    "read_arguments",
    "route",
]
