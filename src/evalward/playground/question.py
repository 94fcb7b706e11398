"""What the page asks: a payload, where it would run, and the policy that decides."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator

from evalward.guard.target import Profile, Shape, Target, parse_target
from evalward.policy import Policy, PolicyError
from evalward.policy.documents import DocumentError, read_yaml
from evalward.policy.issues import Issue
from evalward.policy.line_numbers import Places
from evalward.policy.named_sink import asked_sink
from evalward.policy.policy_file import parse_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TEXT: Final = 4 * 1024 * 1024
"""The longest payload or policy that is read, in characters; the guard's own limit is below."""
_POLICY: Final = "policy"


def _target(value: Any) -> Any:
    return parse_target(value) if isinstance(value, str) else value


def _text(value: Any) -> str:
    # Pydantic's own type rejects a lone surrogate, which is for the guard to deny.
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise ValueError(f"must be text of at most {MAX_TEXT:,} characters")
    return value


Text = Annotated[str, PlainValidator(_text)]


class Question(BaseModel):
    """A payload and its frame; an empty ``policy`` is the one that the playground was started with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: Text
    sink: str | None = None
    target: Annotated[Target | None, BeforeValidator(_target)] = None
    shape: Shape | None = None
    profile: Profile | None = None
    bindings: dict[str, str] = Field(default_factory=dict)
    policy: Text = ""

    @property
    def payload(self) -> bytes:
        """The code in UTF-8; a lone surrogate is kept, so that the guard can deny it."""
        return self.code.encode("utf-8", "surrogatepass")

    def frame(self) -> Frame:
        """Return where it would run; raise CodedError for a sink that does not exist, or that is contradicted."""
        if self.sink is None:
            return Frame(self.target or Target.MAIN, self.shape, None, self.bindings)
        named = asked_sink(self.sink, target=self.target, shape=self.shape, bindings=self.bindings)
        return Frame(named.target, self.shape, named.id, self.bindings)

    def policy_in_force(self, start: Policy) -> Policy:
        """Return the policy with the profile of the question; raise PolicyError."""
        policy = policy_of(self.policy) if self.policy.strip() else start
        return policy if self.profile is None else policy.with_profile(self.profile)


class Frame(NamedTuple):
    """Target, shape, sink and bindings, by the names of ``judge_under``."""

    target: Target
    shape: Shape | None
    sink: str | None
    bindings: Mapping[str, str]


@lru_cache(maxsize=16)
def policy_of(text: str) -> Policy:
    """Return the policy in a YAML text; raise PolicyError with all its errors."""
    try:
        document = read_yaml(text)
    except DocumentError as error:
        raise PolicyError(_POLICY, [Issue("", str(error))]) from None
    return parse_policy(document, source=_POLICY, lines=Places.of_yaml(text).line_of)
