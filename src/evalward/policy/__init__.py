"""The policy of an operator: its file, and the rules that it implies for one request."""

from evalward.policy.allow_eval import parse_allow_eval
from evalward.policy.enforcement import EnforcementPolicy, PolicyException, ToolPolicy, settled
from evalward.policy.hardening import hardened_under, without_program
from evalward.policy.issues import Issue
from evalward.policy.model import Policy
from evalward.policy.override import BindingInvalidError, OverrideRefusedError
from evalward.policy.policy_file import PolicyError, load_policy, parse_policy
from evalward.policy.policy_verdict import exception_of, judge_under, utc_day
from evalward.policy.sections import AddedKeyword, Blocklist, LimitsPolicy, TargetPolicy

__all__ = [
    "AddedKeyword",
    "BindingInvalidError",
    "Blocklist",
    "EnforcementPolicy",
    "Issue",
    "LimitsPolicy",
    "OverrideRefusedError",
    "Policy",
    "PolicyError",
    "PolicyException",
    "TargetPolicy",
    "ToolPolicy",
    "exception_of",
    "hardened_under",
    "judge_under",
    "load_policy",
    "parse_allow_eval",
    "parse_policy",
    "settled",
    "utc_day",
    "without_program",
]
