"""`dml report`, `dml publish` and `dml why`: programs of the pipeline."""

from __future__ import annotations

from typing import Annotated

from dml.cli.project import StudyName, check_name, find_project, study_argument


def report() -> None:
    """Write report/index.html from the results here and the published ones, without training.

    [bold]Example[/bold]: dml report
    """
    find_project().run("-m", "dml.pipeline", "report")


def publish(
    studies: Annotated[list[str], study_argument(metavar="STUDY", help="Studies with results here.")],
) -> None:
    """Publish studies' results in docs/results, for clones to show without training. Commit their changes first.

    [bold]Examples[/bold]: dml publish eps-table1 · dml publish joint-cars joint-flowers
    """
    project = find_project()
    for study in studies:
        check_name(project, study)
    for study in studies:
        project.run("-m", "dml.pipeline", "publish", study)


def why(study: StudyName) -> None:
    """Show why trials of a study run (again): what differs from the most similar trials in the store.

    [bold]Example[/bold]: dml why quickstart
    """
    project = find_project()
    check_name(project, study)
    project.run("-m", "dml.pipeline", "why", study)
