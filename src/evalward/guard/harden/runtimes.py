"""The configuration that P' gives its run-time (harden.md §3)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from evalward.guard.harden.hosts import bound_objects, compiled_hosts, parameter_objects
from evalward.guard.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def _in_script(text: str) -> str:
    """Return JSON that is also safe in the text of an HTML script element."""
    return text.replace("<", "\\u003c")


@dataclass(frozen=True, slots=True)
class Additions:
    """What a policy adds to the catalogue: names of environment variables, and members of `process`."""

    env_names: frozenset[str] = frozenset()
    process_reads: frozenset[str] = frozenset()


@lru_cache(maxsize=64)
def hosts_text(target: Target, more: Additions) -> str:
    """Return the compiled catalogue as it stands in P'.

    What the start does not need is a function that gives it: an engine builds only what a program uses.
    """
    hosts = json.loads(compiled_hosts(target, more.env_names, more.process_reads))
    objects = hosts.pop("o")
    hosts["n"] = {path: each.pop("n") for path, each in objects.items() if "n" in each}
    names = "".join(f'"{name}":{_bare(hosts.pop(name))},' for name in ("g", "z") if name in hosts)
    harmless = _json(hosts.pop("h", ""))
    return _in_script(f'{{{names}"h":{harmless},{_lazy(hosts)},"o":{{{_lazy(objects)}}}}}')


def _bare(table: object) -> str:
    """Return the literal of an object without a prototype."""
    return _json({"__proto__": None} | dict(table)) if isinstance(table, dict) else _json(table)


def _lazy(parts: Mapping[str, object]) -> str:
    return ",".join(f"{_json(name)}:()=>({_json(each)})" for name, each in parts.items())


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@cache
def _host_names(target: Target) -> frozenset[str]:
    return frozenset(json.loads(compiled_hosts(target)).get("g", {}))


def bound_names(target: Target, bindings: Mapping[str, str]) -> frozenset[str]:
    """Return the free names that may hold a host object or the text of P': a sink, policy or request binds names."""
    told = bindings.keys() if target is not Target.SANDBOX else frozenset()
    return _host_names(target) | told


def configuration(  # noqa: PLR0913  what it is made of
    payload: bytes,
    target: Target,
    prefix: str,
    bindings: Mapping[str, str],
    *,
    parameters: Iterable[str] | None,
    more: Additions,
) -> str:
    """Return the configuration as a JavaScript expression in ASCII."""
    told = {
        "source": payload.decode(),
        "body": 1,
        "prefix": prefix,
        "bindings": bound_objects(target, bindings),
        "parameters": parameter_objects(target, parameters),
    }
    text = _in_script(_json(told))
    return f'{text[:-1]},"hosts":{hosts_text(target, more)}}}'
