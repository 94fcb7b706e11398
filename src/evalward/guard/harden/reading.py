"""From a parsed program to its tree with resolved names; ``read`` joins the tables of the modules ``read_*``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evalward.guard.constructs import eval_call
from evalward.guard.harden import read_chains, read_expressions, read_statements
from evalward.guard.harden.outcome import RefusedError
from evalward.guard.harden.read_functions import has_directive, statements
from evalward.guard.harden.reader import Reader
from evalward.guard.harden.statement_tree import Program
from evalward.guard.syntax.grammar import COMMENTS, KIND_COUNT
from evalward.guard.target import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalward.guard.harden.reader import ExpressionHandler, StatementHandler
    from evalward.guard.harden.travel import Sendings
    from evalward.guard.syntax.program import ParsedProgram

_OF_EXPRESSIONS: Final = {**read_expressions.HANDLERS, **read_chains.HANDLERS}
# By kind; one that has no function is refused.
_EXPRESSIONS: Final[Sequence[ExpressionHandler]] = [
    _OF_EXPRESSIONS.get(kind, Reader.unknown) for kind in range(KIND_COUNT)
]
_STATEMENTS: Final[Sequence[StatementHandler]] = [
    read_statements.HANDLERS.get(kind, Reader.unknown) for kind in range(KIND_COUNT)
]
_OF_STATEMENTS: Final = frozenset({Shape.SCRIPT, Shape.ASYNC_BODY, Shape.MODULE})


def read(
    program: ParsedProgram, shape: Shape, prefix: str, sendings: Sendings | None = None
) -> tuple[Program, Reader]:
    """Return the tree of ``program``, and the reader that knows its scopes; raise RefusedError.

    ``sendings`` collects what may be sent to other realms.
    """
    reader = Reader(program, shape, prefix, _EXPRESSIONS, _STATEMENTS)
    reader.sendings = sendings
    nodes = [node for node in program.roots if node.kind_id not in COMMENTS]
    found = Program(reader.strict, None, None, [], reader.scopes.globals)
    if shape in _OF_STATEMENTS:
        found.directive = has_directive(reader, nodes)
        reader.strict = found.strict = reader.strict or found.directive
        found.body = statements(reader, nodes, 1, top=True)
    elif len(nodes) == 1 and nodes[0].type == "expression_statement":
        found.value = reader.expression(reader.children(nodes[0])[0])
    elif len(nodes) == 1:
        found.value = reader.expression(nodes[0])
    else:
        raise RefusedError("The payload is not one expression.")
    top = reader.scopes.current
    reader.scopes.resolve()
    found.variables = top.variables
    for name, node in reader.evals:
        if name.binding is None:
            reader.refuse(node, "The payload calls eval.", eval_call.LABEL)
    # What the payload holds as it is written, and what it means.
    if prefix.encode() in program.source or prefix in "\0".join(reader.texts):
        raise RefusedError("The payload holds the prefix; another one is needed.", kind="prefix")
    return found, reader
