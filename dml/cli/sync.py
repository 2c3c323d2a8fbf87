"""`dml sync`: bring MLflow up to date."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dml.cli.project import check_name, find_project, study_argument


def sync(
    studies: Annotated[
        list[str] | None, study_argument(metavar="[STUDY]...", help="By default all that have results here.")
    ] = None,
) -> None:
    """Bring MLflow up to date with the results here, such as after its server was away. Sweeps do so by themselves.

    [bold]Examples[/bold]: dml sync · dml sync quickstart
    """
    project = find_project()
    for study in studies or ():
        check_name(project, study)
    results = (*project.results.glob("*/trials.parquet"), *project.store.glob("sweeps/*.live/trials.parquet"))
    here = {path.parent.name.removesuffix(".live") for path in results}
    names = studies or sorted(here.intersection(project.names()))
    if not names:
        print("no study has results here: dml run", file=sys.stderr)
        return

    codes = [project.run("-m", "dml.pipeline", "sync", name, check=False) for name in names]
    if any(codes):
        raise typer.Exit(1)
