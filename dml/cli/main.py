"""The entry point `dml`: its commands, `--version`, and one message for each error that a user can fix.

Exit codes: 0 success, 1 failure, 2 a wrong command line, 130 interrupted.
"""

from __future__ import annotations

import errno
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dml import __version__
from dml.cli.audit import audit
from dml.cli.check import check
from dml.cli.embed import embed, search
from dml.cli.init import init
from dml.cli.look import look
from dml.cli.machine import doctor, gc, sync, ui
from dml.cli.new import new
from dml.cli.project import INTERRUPTED
from dml.cli.recommend import recommend
from dml.cli.refit import refit
from dml.cli.run import publish, report, run, status, why
from dml.files import explain

PANELS = {
    "First": (look,),
    "Studies": (init, new, check, run, status, why, report, publish),
    "Labels": (audit,),
    "Trained models": (recommend, refit, embed, search),
    "This machine": (ui, sync, gc, doctor),
}


class Commands(TyperGroup):
    """Turns errors that a user can fix into one message and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            print("\nInterrupted.", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except (ValueError, RuntimeError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise  # the reader of a pipe ended, which is no error
            print(f"error: {explain(error)}", file=sys.stderr)
            raise typer.Exit(1) from None


app = typer.Typer(
    name="dml",
    cls=Commands,
    help="Which loss, which tuples and which settings work on your data at your noise level: studies, their cost, "
    "their results, and what to do with the trained models.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for panel, commands in PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dml {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 success, 1 failure, 2 a wrong command line, 130 interrupted. "
    "More: docs/commands.md in dml's repository."
)
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command that the command line names."""
    app()
