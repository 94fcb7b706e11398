"""What an operator permits: the policy file, and the rules that follow from it for one request."""

from evalward.policy.allow_eval import parse_allow_eval
from evalward.policy.load import Issue, PolicyError, load_policy, parse_policy
from evalward.policy.model import AddedKeyword, Blocklist, LimitsPolicy, Policy, TargetPolicy
from evalward.policy.override import BindingInvalidError, OverrideRefusedError

__all__ = [
    "AddedKeyword",
    "BindingInvalidError",
    "Blocklist",
    "Issue",
    "LimitsPolicy",
    "OverrideRefusedError",
    "Policy",
    "PolicyError",
    "TargetPolicy",
    "load_policy",
    "parse_allow_eval",
    "parse_policy",
]
