"""``evalward demo``: payloads that the guard blocks and a keyword list does not, and benign ones that it allows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from evalward.cli.text import trace_lines
from evalward.guard import judge
from evalward.guard.target import Profile, Shape, Target
from evalward.guard.verdict import Verdict
from evalward.policy import Policy

PIPE_WIDTH = 120


@dataclass(frozen=True, slots=True)
class Example:
    """A payload and the reason for showing it."""

    why: str
    code: str
    target: Target
    shape: Shape | None = None


EXAMPLES = (
    Example("reads the page", "document.title", Target.RENDERER),
    Example(
        "'Function(' inside a longer name",
        "await page.waitForFunction(() => document.fonts.status === 'loaded')",
        Target.NODE,
        Shape.ASYNC_BODY,
    ),
    Example("the plain form, on every keyword list", "process.exit(0)", Target.MAIN),
    Example("the same with a literal key", "process['exit'](0)", Target.MAIN),
    Example("the same with folded keys", "globalThis['pro' + 'cess']['ex' + 'it']()", Target.MAIN),
    Example("code from text, through an alias", "const f = Function; f('return 1')()", Target.RENDERER),
    Example(
        "Electron's app, bound by the sink", "({ app: a }) => a['ex' + 'it'](0)", Target.MAIN, Shape.FUNCTION
    ),
    Example(
        "keys that cannot be resolved",
        "({ routes, method, path }) => routes[method][path](1)",
        Target.RENDERER,
        Shape.FUNCTION,
    ),
)


def demo() -> None:
    """Show eight payloads under the three profiles side by side, with the trace of every finding.

    \b
    Example:
      evalward demo
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    console.print(table())


def table() -> Table:
    """Return the payloads as rows and the profiles as columns, from the weakest to the strictest."""
    order = (Profile.SEED, Profile.BALANCED, Profile.STRICT)
    shown = Table(box=box.SIMPLE_HEAVY, show_lines=False, pad_edge=False)
    shown.add_column("payload", overflow="fold")
    for profile in order:
        shown.add_column(str(profile), overflow="fold", min_width=9)
    for example, verdicts in judged(order):
        shown.add_row(_payload(example, verdicts), *map(_cell, verdicts))
    return shown


def judged(profiles: Iterable[Profile]) -> Iterator[tuple[Example, list[Verdict]]]:
    """Yield each example with its verdicts, one per profile."""
    policies = [Policy.default().allowing(Target).with_profile(profile) for profile in profiles]
    for example in EXAMPLES:
        yield example, [_verdict(example, policy) for policy in policies]


def _verdict(example: Example, policy: Policy) -> Verdict:
    rules = policy.rules_for(example.target)
    return judge(example.code.encode(), target=example.target, shape=example.shape, rules=rules)


def _payload(example: Example, verdicts: list[Verdict]) -> Group:
    """Return the payload, why it is shown, and the longest trace that a profile gave for it."""
    findings = [finding for verdict in verdicts for finding in verdict.findings]
    trace = max((list(trace_lines(finding)) for finding in findings), key=len, default=[])
    shape = f", {example.shape}" if example.shape else ""
    return Group(
        Text(example.code, "bold"),
        Text(f"{example.why} ({example.target}{shape})", "dim"),
        *(Text(line.strip(), "cyan") for line in trace),
        Text(),
    )


def _cell(verdict: Verdict) -> Text:
    if verdict.allowed:
        return Text("allowed", "green")
    return Text.assemble(("blocked", "bold red"), f"\n{verdict.construct or verdict.keyword or verdict.code}")
