"""Every construct by its label."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from evalward.guard.constructs import (
    analysis_limit,
    arguments_callee,
    bidi,
    call_sites,
    catastrophic_regex,
    clipboard,
    constructor_chain,
    dom_script_injection,
    dynamic_import,
    dynamic_key,
    electron,
    electron_lifecycle,
    electron_shell,
    eval_call,
    function_call,
    function_constructor,
    function_new,
    global_object,
    import_meta,
    module_loading,
    navigation,
    nested_evaluation,
    network,
    parser_ambiguity,
    process,
    process_abort,
    process_exit,
    process_kill,
    process_member,
    proto,
    prototype_tampering,
    reflection,
    require_call,
    static_import,
    storage,
    string_timer,
    unbounded_loop,
    webassembly,
    with_statement,
    worker,
    wrapper_breakout,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evalward.guard.constructs.construct import Construct

_ALL = (
    process_exit.CONSTRUCT,
    process_kill.CONSTRUCT,
    process_abort.CONSTRUCT,
    process_member.CONSTRUCT,
    process.CONSTRUCT,
    require_call.CONSTRUCT,
    module_loading.CONSTRUCT,
    dynamic_import.CONSTRUCT,
    static_import.CONSTRUCT,
    import_meta.CONSTRUCT,
    eval_call.CONSTRUCT,
    function_call.CONSTRUCT,
    function_new.CONSTRUCT,
    constructor_chain.CONSTRUCT,
    function_constructor.CONSTRUCT,
    reflection.CONSTRUCT,
    global_object.CONSTRUCT,
    string_timer.CONSTRUCT,
    with_statement.CONSTRUCT,
    proto.CONSTRUCT,
    prototype_tampering.CONSTRUCT,
    call_sites.CONSTRUCT,
    arguments_callee.CONSTRUCT,
    webassembly.CONSTRUCT,
    worker.CONSTRUCT,
    dom_script_injection.CONSTRUCT,
    nested_evaluation.CONSTRUCT,
    electron_lifecycle.CONSTRUCT,
    electron_shell.CONSTRUCT,
    electron.CONSTRUCT,
    dynamic_key.CONSTRUCT,
    parser_ambiguity.CONSTRUCT,
    wrapper_breakout.CONSTRUCT,
    analysis_limit.CONSTRUCT,
    network.CONSTRUCT,
    storage.CONSTRUCT,
    navigation.CONSTRUCT,
    clipboard.CONSTRUCT,
    bidi.CONSTRUCT,
    unbounded_loop.CONSTRUCT,
    catastrophic_regex.CONSTRUCT,
)

CONSTRUCTS: Mapping[str, Construct] = MappingProxyType({construct.label: construct for construct in _ALL})
"""Every construct by its label, in the order of the docs; ``process.<member>`` stands for a family of labels."""


def construct_of(label: str) -> Construct | None:
    """Return the construct of ``label``, for instance of ``process.binding``; None for an unknown label."""
    if label not in CONSTRUCTS and label.startswith(process_member.PREFIX):
        return process_member.CONSTRUCT
    return CONSTRUCTS.get(label)
