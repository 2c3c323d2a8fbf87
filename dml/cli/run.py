"""`dml run`: run studies, from data to report."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dml.cli.check import print_costs
from dml.cli.project import INTERRUPTED, chosen_before, find_project, study_argument, valid, write_chosen


def run(
    studies: Annotated[
        list[str] | None,
        study_argument(
            metavar="STUDY", help="Studies, their files, or groups such as paper-eps; none: those chosen before."
        ),
    ] = None,
) -> None:
    """Run studies, from data to report/index.html. Finished trials never run again, and an interrupted run resumes.

    Prints first what they cost. The studies are written into params.yaml, where `dvc repro` finds them. A second run in
    the same project waits for the first.

    [bold]Examples[/bold]: dml run · dml run my-images · dml run paper-eps quickstart
    """
    project = find_project()
    names = valid(project, studies) if studies else chosen_before(project)
    print_costs(project, names)
    with project.alone():
        write_chosen(project, names)  # not before: another run may have changed it during the estimate
        try:
            project.run("-m", "dvc", "repro")
        except typer.Exit as ended:
            if ended.exit_code == INTERRUPTED:
                print("\nInterrupted. Finished work is saved: `dml run` resumes.", file=sys.stderr)
            raise
    report = project.root / "report" / "index.html"
    print(f"\nThe report: {report.resolve().as_uri()}\nThe runs:   dml ui   (MLflow)")
