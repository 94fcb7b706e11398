"""``evalward lsp``: a language server for editors, on standard input and output."""

from importlib.metadata import version
from typing import Annotated

import typer

from evalward.cli.exit_codes import INFRASTRUCTURE_FAILURE
from evalward.cli.payload_options import (
    BindOption,
    PolicyOption,
    ProfileOption,
    ShapeOption,
    SinkOption,
    TargetOption,
)
from evalward.cli.serverless import (
    bindings_option,
    policy_in_force,
    sink_option,
)
from evalward.errors import CodedError
from evalward.guard.target import Target


def lsp(  # noqa: PLR0913 - one parameter per option
    *,
    sink: SinkOption = None,
    target: TargetOption = None,
    shape: ShapeOption = None,
    profile: ProfileOption = None,
    policy: PolicyOption = None,
    bind: BindOption = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="Accepted for editors that pass it.")] = True,
) -> None:
    """Serve diagnostics and hovers to an editor (LSP on standard input and output).

    Scripts are judged as payloads with these options, cases of corpus files with their own target and sink. It needs
    the extra: pip install 'evalward[lsp]'.

    \b
    Examples:
      evalward lsp --sink playwright.evaluate
      evalward lsp --target renderer --policy policy.yaml
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    del stdio
    try:
        from evalward.lsp.server import language_server  # noqa: PLC0415 - needs the extra
    except ImportError:
        typer.echo("evalward lsp needs its extra: pip install 'evalward[lsp]'", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    from evalward.lsp.problems import Frame  # noqa: PLC0415 - with the server

    bindings = bindings_option(bind or [])
    named = None if sink is None else sink_option(sink, target=target, shape=shape, bindings=bindings)
    realm = named.target if named else target or Target.MAIN
    try:
        in_force = policy_in_force(policy, opt_in=Target, profile=profile)
    except CodedError as error:
        typer.echo(f"{error.code}: {error.message}", err=True)
        raise typer.Exit(INFRASTRUCTURE_FAILURE) from None
    frame = Frame(in_force, realm, shape, named.id if named else None, bindings)
    language_server(frame, version("evalward")).start_io()
