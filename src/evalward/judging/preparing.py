"""The run-time once in a page: the script that puts it there, and the program that finds it (harden.md §6).

A prepared page holds the run-time in one property of its global object. Its name and its secret are in a key, which a
program for that page needs. The secret has two halves: the program shows the first to what it finds, and runs only if
the answer has the second. So what a page puts in the property's place without knowing the key is no run-time, and
what a payload finds there gives nothing.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evalward.guard.runtime_texts import runtime_for
from evalward.guard.target import Target
from evalward.guard.verdict import HardenedProgram

if TYPE_CHECKING:
    from evalward.guard.verdict import Verdict

PREPARABLE: Final = (Target.RENDERER,)
"""The targets whose realm can be prepared."""
KEY: Final = re.compile(r"[0-9a-f]{16}\.[0-9a-f]{32}\.[0-9a-f]{64}")
"""Version, name and secret."""
_BYTES: Final = 16
_HALF: Final = 32
_RESERVED: Final = "__evalward_"
"""How the name of the property begins; runtime/src/global.js lets no payload make such a global."""

_SCRIPT: Final = (
    "(()=>{'use strict';const N='%(name)s',D=Object.getOwnPropertyDescriptor(globalThis,N);"
    "if(D!==undefined&&!D.configurable)return;"  # a binding that a driver was asked for is replaced
    "const W='%(word)s',T=TypeError,R=%(runtime)s;try{R({early:1})}catch{}"
    "const P=Object.freeze({__proto__:null,a:'%(answer)s',r:R});"
    "Object.defineProperty(globalThis,N,{__proto__:null,enumerable:false,writable:false,configurable:false,"
    "value:Object.freeze((w)=>{if(w!==W)throw new T('not for you');return P})})})()"
)
_HEAD: Final = (
    # What can be written to is not shown the word. Nothing of the page's is asked.
    '((c)=>{let p;try{(()=>{"use strict";%(name)s=0})()}catch(e){try{p=%(name)s("%(word)s")}catch(e){}}'
    'if(!p||p.a!=="%(answer)s"){const e=new Error("evalward denied prototype-tampering: the page is not prepared");'
    'e.name="EvalwardDenied";e.construct="prototype-tampering";throw e}return p.r(c,(E)=>new E)})'
)


class Prepared(NamedTuple):
    """What prepares a page: ``script`` runs before its scripts, ``key`` goes with each request for a program."""

    script: str
    key: str
    version: str


def prepare_runtime(target: Target | str) -> Prepared:
    """Return what prepares realms of ``target``; raise ValueError for one whose realm cannot be prepared.

    Each call has another key. The key is a secret of the caller: with it a page can get the run-time's functions.
    """
    asked = Target(target)
    if asked not in PREPARABLE:
        raise ValueError(f"only a realm of {', '.join(PREPARABLE)} can be prepared")
    runtime = runtime_for(asked)
    key = f"{runtime.version}.{secrets.token_hex(_BYTES)}.{secrets.token_hex(2 * _BYTES)}"
    return Prepared(_SCRIPT % {**_parts(key), "runtime": runtime.text}, key, runtime.version)


def for_prepared(verdict: Verdict, key: str) -> Verdict:
    """Return ``verdict`` with a program for the page that ``key`` prepared, without the run-time in it.

    A program is left as it is if it is for another realm, or if the key is another version's: the page then holds
    another run-time. Raises ValueError for a malformed key.
    """
    if KEY.fullmatch(key) is None:
        raise ValueError("the key of the prepared page is malformed")
    program = verdict.hardened
    if program is None or verdict.target is None:
        return verdict
    text = for_key(program.text, program.runtime, verdict.target, key)
    return replace(verdict, hardened=HardenedProgram(text, program.runtime, program.prefix))


def for_key(text: bytes, version: str, target: Target, key: str) -> bytes:
    """Return the program ``text``, which holds the run-time ``version``, as ``for_prepared`` has it."""
    if target not in PREPARABLE:
        return text
    runtime = runtime_for(target)
    if not version == runtime.version == key.partition(".")[0]:
        return text
    # The payload's own text comes after it and is encoded, so that the first occurrence is the run-time.
    return text.replace(runtime.text.encode(), (_HEAD % _parts(key)).encode(), 1)


def _parts(key: str) -> dict[str, str]:
    _, name, secret = key.split(".")
    return {"name": f"{_RESERVED}{name}", "word": secret[:_HALF], "answer": secret[_HALF:]}
