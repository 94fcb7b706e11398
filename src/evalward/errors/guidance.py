"""The hints for each code: general guidance, never a prescription (seed 001)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Guidance(NamedTuple):
    """The texts of one row of the registry."""

    hint: str
    recovery_hints: tuple[str, ...]
    next_actions: tuple[str, ...]


_RESEND = "Send the corrected payload again."
_GRANULAR = "Use a granular tool (click, fill, read text) instead of an eval where one exists."
_OPERATOR = "Ask the operator of this Evalward to look at its log."
_BACK_OFF = "Wait for the suggested delay, then send the same request again."
_SMALLER = "Split the work over several smaller calls."

GUIDANCE: Mapping[str, Guidance] = MappingProxyType(
    {
        "EVAL_BLOCKED_KEYWORD": Guidance(
            "The payload contains a text that the policy lists; write the same step without it.",
            (
                "Look at the place that details.where names; the list is matched against the raw text.",
                "A mention in a comment or a string can count too, depending on blocklist.mode.",
            ),
            ("Rewrite the payload without the keyword.", _GRANULAR),
        ),
        "EVAL_BLOCKED_CONSTRUCT": Guidance(
            "Remove the blocked construct (details.construct names it) and prefer a granular non-eval tool"
            " when possible.",
            (
                "Follow details.trace: it shows how the value reached the place of use.",
                "Another spelling of the same construct is resolved to the same verdict.",
            ),
            ("Remove the construct and send the payload again.", _GRANULAR),
        ),
        "EVAL_SYNTAX_ERROR": Guidance(
            "The payload does not parse in the shape in which the sink would run it.",
            (
                "Check brackets, quotes and template literals near details.location.",
                "Check that shape matches the text: a statement is not an expression.",
                "TypeScript and JSX are not JavaScript; send plain JavaScript.",
            ),
            (_RESEND, "Name the sink that evaluates the text, or the shape in which it does."),
        ),
        "EVAL_BAD_ENCODING": Guidance(
            "The payload must be valid UTF-8 without NUL bytes.",
            ("Look for lone surrogates and for text that was decoded with another encoding.",),
            ("Encode the payload as UTF-8 and send it again.",),
        ),
        "EVAL_TARGET_DENIED": Guidance(
            "The policy does not permit eval in this target; only the operator can opt it in.",
            (
                "Default is deny: each target needs an opt-in of its own.",
                "details.required has the operator's flag; no request can set it.",
            ),
            ("Use a target of details.allowed, or a granular tool.",),
        ),
        "EVAL_ANALYSIS_LIMIT": Guidance(
            "The payload needs more analysis than the limits allow, so it cannot be proven safe.",
            (
                "Deep nesting, very long chains and generated or obfuscated code cost the most.",
                "Pass data as an argument of the call, not in the source text.",
            ),
            ("Simplify the payload.", _SMALLER),
        ),
        "EVAL_NOT_HARDENABLE": Guidance(
            "The payload may run only as a hardened program, and none can be made of it; details.reason says why.",
            (
                "details.location is the first place that cannot be printed again.",
                "Direct eval, import(), import.meta, with and debugger are never hardened.",
                "A hardened program needs a declared shape or the name of a sink.",
            ),
            ("Rewrite the place that details.location names.", _GRANULAR),
        ),
        "EVAL_DENIED_AT_RUN_TIME": Guidance(
            "The payload was allowed, and the hardened program stopped when it reached the denied construct"
            " (details.construct names it).",
            (
                "What ran before the denial has happened: look at the state before you try again.",
                "Another spelling of the same construct is denied, too.",
            ),
            ("Remove the construct and send the payload again.", _GRANULAR),
        ),
        "EVAL_PAYLOAD_TOO_LARGE": Guidance(
            "The payload is larger than the size limit that details names.",
            ("Pass data as an argument; inline libraries are the usual cause.",),
            (_SMALLER, "Ask the operator whether a larger preset fits the task."),
        ),
        "EVAL_RUNTIME_ERROR": Guidance(
            "The payload passed the guard and threw while it ran in the sandbox.",
            ("Compare the names that it uses with what the sandbox offers.",),
            ("Handle or fix the error and send the payload again.",),
        ),
        "EVAL_FUEL_EXHAUSTED": Guidance(
            "The payload used up its instruction budget; the same payload will do so again.",
            ("Look for a loop that does not end, or for work that grows with the square of the input.",),
            ("Do less work in one call.", _SMALLER),
        ),
        "EVAL_TIMEOUT": Guidance(
            "The evaluation did not finish within its time limit; a loaded machine can be the reason.",
            ("If it happens again, the payload itself is too slow for the limit.",),
            (_BACK_OFF, _SMALLER),
        ),
        "EVAL_MEMORY_LIMIT": Guidance(
            "The payload asked for more memory than the sandbox grants.",
            ("Large arrays, string repetition and kept intermediate results are usual causes.",),
            ("Keep less data alive at once.", _SMALLER),
        ),
        "EVAL_STACK_LIMIT": Guidance(
            "The payload recursed deeper than the sandbox's stack.",
            ("Look for a recursion without an end, or turn it into a loop.",),
            (_RESEND,),
        ),
        "EVAL_RESULT_TOO_LARGE": Guidance(
            "The payload ran, but its result is larger than the limit that details names.",
            ("Select or aggregate inside the payload and return only what is needed.",),
            ("Return a smaller result.", "Read the data in pages."),
        ),
        "EVAL_UNSETTLED": Guidance(
            "The payload returned a promise that can no longer settle in the sandbox.",
            ("Nothing in the sandbox resolves it: there are no timers and no I/O unless they are granted.",),
            ("Return a value, or a promise that the payload itself settles.",),
        ),
        "SANDBOX_UNAVAILABLE": Guidance(
            "The sandbox cannot take an evaluation at the moment; nothing was run.",
            ("It restarts automatically after a crash; a lasting failure needs the operator.",),
            (_BACK_OFF, _OPERATOR),
        ),
        "TOOL_UNKNOWN": Guidance(
            "No tool of this name is in the manifest; similar_refs lists the closest names.",
            ("Tool names are compared exactly, with case.",),
            ("Use a name from the tool list.",),
        ),
        "TOOL_FIELD_FORBIDDEN": Guidance(
            "The call carries a field that the manifest forbids for this tool.",
            ("Code that arrives by path cannot be judged; send it as text in a source field.",),
            ("Remove the field and send the call again.",),
        ),
        "STRICT_CONSTANT_OVERRIDE": Guidance(
            "The policy fixes this value; a request may tighten it but never loosen it.",
            ("details.allowed lists what a request may ask for.",),
            ("Leave the field out to use the policy's value.", "Ask for a stricter value."),
        ),
        "TOOL_URL_DENIED": Guidance(
            "The policy does not permit this URL; details.allowed lists the schemes that it permits.",
            (
                "Of about: only about:blank is permitted.",
                "A URL counts as a browser reads it: tabs, line ends and case in its scheme change nothing.",
            ),
            (
                "Use a URL of a permitted scheme.",
                "Ask the operator to permit the scheme if the task needs it.",
            ),
        ),
        "TOOL_VALUE_DENIED": Guidance(
            "The policy does not list this value for a field that holds a path or decides what is launched.",
            ("Only the operator can list values; a field's own default needs no entry.",),
            (
                "Leave the field out, or use a value of details.allowed.",
                "Ask the operator to list the value if the task needs it.",
            ),
        ),
        "INVALID_INPUT": Guidance(
            "A field of the request is malformed or outside of its allowed values.",
            ("details.field names the field, details.allowed or details.range what it may hold.",),
            ("Correct the field and send the request again.",),
        ),
        "MISSING_FIELD": Guidance(
            "A required field is absent.",
            ("details.required lists what must be there.",),
            ("Supply the listed field and send the request again.",),
        ),
        "UNSUPPORTED_OPTION": Guidance(
            "The request names an option that this version or configuration does not support.",
            ("details.allowed lists the supported options.",),
            ("Choose a listed option.",),
        ),
        "BATCH_TOO_LARGE": Guidance(
            "The batch has more items or bytes than one request may carry.",
            ("details.limit names the limit; nothing of the batch was judged.",),
            ("Send several smaller batches.",),
        ),
        "DEADLINE_EXCEEDED": Guidance(
            "The deadline passed before there was a verdict; treat the payload as denied.",
            ("A deadline shorter than the analysis budget can fail under load.",),
            (_BACK_OFF, "Allow more time for the call."),
        ),
        "OVERLOADED": Guidance(
            "The service has no free capacity; the payload was not judged, treat it as denied.",
            ("Limit how many validations the client keeps in flight.",),
            (_BACK_OFF,),
        ),
        "UNAUTHENTICATED": Guidance(
            "The call carries no valid credential.",
            ("Check that the client is configured with the current token or certificate.",),
            ("Configure the client's credential, then call again.",),
        ),
        "PERMISSION_DENIED": Guidance(
            "The credential is valid but may not make this call.",
            ("The operator lists the certificates whose clients may call.",),
            ("Ask the operator to add the client's certificate.",),
        ),
        "AUDIT_UNAVAILABLE": Guidance(
            "The verdict could not be written to the audit log, so nothing may run.",
            ("The service recovers automatically once its log can be written; the payload is not at fault.",),
            (_BACK_OFF, _OPERATOR),
        ),
        "CONFIG_INVALID": Guidance(
            "The service's configuration is not valid, so it does not serve.",
            ("details.field names the setting, details.allowed its values.",),
            ("Correct the setting and start the service again.",),
        ),
        "POLICY_INVALID": Guidance(
            "The policy file is not valid, so none of it is in force.",
            ("details.issues lists every problem with file, field and allowed values.",),
            ("Correct the policy file and load it again.",),
        ),
        "SHUTTING_DOWN": Guidance(
            "The service is stopping and takes no new work; treat the payload as denied.",
            ("Another instance, or this one after its restart, can answer the same request.",),
            (_BACK_OFF,),
        ),
        "GUARD_UNAVAILABLE": Guidance(
            "The guard gave no verdict, for a reason other than the payload; treat the payload as denied.",
            ("Its worker was stopped, killed or starved of processor time; it is replaced automatically.",),
            (_BACK_OFF, _OPERATOR),
        ),
        "INTERNAL": Guidance(
            "Evalward failed in a way that it does not expect; treat the payload as denied.",
            ("The same request is likely to fail again until the fault is repaired.",),
            ("Report the decision id to the operator.", _GRANULAR),
        ),
        "SERVICE_UNREACHABLE": Guidance(
            "The guard cannot be reached, so nothing may run; check that it is up, then send the same request again.",
            ("details.reason says at which step the connection failed.",),
            (_BACK_OFF, _OPERATOR),
        ),
        "TLS_FAILED": Guidance(
            "Client and guard do not agree on TLS, so nothing may run; the same request fails until they do.",
            ("details.reason names the certificate, or which side speaks TLS and which does not.",),
            ("Correct the address or the certificates of the client or the guard.",),
        ),
        "SERVICE_UNPROVEN": Guidance(
            "The server that answered did not prove that it is the guard; treat the payload as denied.",
            (
                "Another process may listen at the guard's address.",
                "A guard of an older version cannot prove itself on plain TCP: reach it over TLS or a Unix socket.",
            ),
            ("Ask the operator which process listens at the guard's address.",),
        ),
    }
)
