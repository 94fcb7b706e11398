"""The fast record of a plain allow is byte for byte equal to the record type's."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalward.audit import AllowForm, Fingerprint, decision_record
from evalward.audit.chain import members
from evalward.audit.record import PATTERNS
from evalward.errors import Code, Provenance
from evalward.guard.rules import Enforcement
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Finding, Verdict

PROVENANCE = Provenance("0.1.0", "a" * 64, "b" * 12, "tree-sitter-javascript 0.25.0")
HASH = "0123456789abcdef" * 4
OWN = {"session", "request_id", "trace_id", "principal", "decision_id"}
DATA = Path(__file__).parents[1] / "data" / "audit" / "refused-fields.tsv"
with DATA.open(encoding="utf-8") as stream:
    ROWS = [(row["field"], json.loads(row["value"])) for row in csv.DictReader(stream, delimiter="\t")]
REFUSED = [(field, value) for field, value in ROWS if field in {*OWN, "elapsed_us", "hash_alg", "fnv1a32"}]

COUNT = st.integers(0, 2**40)
PLAIN = st.builds(
    Verdict,
    st.none(),
    st.sampled_from(Target),
    st.none() | st.sampled_from(Shape),
    st.sampled_from(Profile),
    st.just(HASH),
    COUNT,
    enforcement=st.sampled_from(Enforcement),
)


def matching(name: str) -> st.SearchStrategy[str]:
    return st.from_regex(PATTERNS[name], fullmatch=True)


CALLER = {name: st.none() | matching(name) for name in sorted(OWN - {"decision_id"})}
FINGERPRINT = st.builds(
    Fingerprint, matching("hash_alg"), matching("code_hash"), st.none() | matching("fnv1a32")
)
FORM = AllowForm(PROVENANCE)


@pytest.mark.exhaustive
@given(PLAIN, matching("decision_id"), FINGERPRINT, COUNT, st.fixed_dictionaries(CALLER))
def test_the_text_is_that_of_the_record(
    verdict: Verdict, decision_id: str, fingerprint: Fingerprint, elapsed_us: int, caller: dict[str, Any]
) -> None:
    about = {"decision_id": decision_id, "fingerprint": fingerprint, "elapsed_us": elapsed_us, **caller}
    filled = FORM.record(verdict, **about)
    assert filled is not None
    assert filled.text == members(decision_record(verdict, provenance=PROVENANCE, **about))


def verdict_with(**fields: Any) -> Verdict:
    return Verdict(**{"code": None, **FRAME, **fields})


FRAME: dict[str, Any] = {
    "target": Target.MAIN,
    "shape": None,
    "profile": Profile.BALANCED,
    "code_hash": HASH,
    "code_length": 1,
}
ABOUT: dict[str, Any] = {
    "decision_id": "d",
    "fingerprint": Fingerprint("sha256", HASH),
    "elapsed_us": 1,
    **dict.fromkeys(CALLER),
}


@pytest.mark.parametrize(
    "more",
    [
        {"code": Code.EVAL_BLOCKED_CONSTRUCT, "construct": "process.exit"},
        {"code": Code.EVAL_SYNTAX_ERROR},
        {"shadow": (Finding("with"),)},
        {"withheld": verdict_with(code=Code.EVAL_BLOCKED_KEYWORD, keyword="Function(")},
        {"exception_id": "0" * 16},
        {"construct": "with"},
        {"keyword": "Function("},
    ],
    ids=lambda more: next(reversed(more)),
)
def test_what_says_more_than_that_it_is_allowed_has_no_such_text(more: dict[str, Any]) -> None:
    assert FORM.record(verdict_with(**more), **ABOUT) is None


@pytest.mark.parametrize(("field", "value"), REFUSED)
def test_what_the_record_type_refuses_is_refused_and_not_repeated(field: str, value: Any) -> None:
    about = dict(ABOUT)
    if field in {"hash_alg", "fnv1a32"}:
        about["fingerprint"] = about["fingerprint"]._replace(**{field: value})
    else:
        about[field] = value
    with pytest.raises(ValueError, match=field) as caught:
        FORM.record(verdict_with(), **about)
    if isinstance(value, str) and len(value) > 3:
        assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value"), [("code_hash", "x" * 64), ("code_hash", "a"), ("code_length", -1)]
)
def test_a_verdict_about_nothing_is_refused(field: str, value: Any) -> None:
    verdict = verdict_with(**{field: value})
    about = {**ABOUT, "fingerprint": Fingerprint("sha256", verdict.code_hash)}
    with pytest.raises(ValueError, match=field):
        FORM.record(verdict, **about)
