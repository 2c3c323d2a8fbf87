"""`dml run`: run studies, from data to report."""

from __future__ import annotations

from typing import Annotated

from dml.cli.check import print_costs
from dml.cli.project import find_project, study_argument, valid, write_chosen


def run(
    studies: Annotated[
        list[str] | None,
        study_argument(metavar="[STUDY...]", help="Studies, or groups such as paper-eps; none: those chosen before."),
    ] = None,
) -> None:
    """Run studies, from data to report/index.html. Finished trials never run again, and an interrupted run resumes.

    Prints first what they cost. The studies are written into params.yaml, where `dvc repro` finds them. A second run in
    the same project waits for the first.

    [bold]Examples[/bold]: dml run · dml run my-images · dml run paper-eps quickstart
    """
    project = find_project()
    names = valid(project, studies) if studies else project.chosen()
    print_costs(project, names)
    with project.alone():
        write_chosen(project, names)  # not before: another run may have changed it during the estimate
        project.run("-m", "dvc", "repro")
    report = project.root / "report" / "index.html"
    print(f"\nThe report: {report.resolve().as_uri()}\nThe runs:   dml ui   (MLflow)")
