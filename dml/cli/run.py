"""`dml run`: run studies, from data to report."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from dml.cli.check import check_outputs, print_costs
from dml.cli.project import (
    INTERRUPTED,
    Project,
    StudyName,
    check_name,
    chosen_before,
    find_project,
    study_argument,
    valid,
    write_chosen,
)
from dml.cli.recommend import outcome, recommendation


def run(
    studies: Annotated[
        list[str] | None,
        study_argument(
            metavar="STUDY", help="Studies, their files, or groups such as paper-eps; none: those chosen before."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print DVC's own lines too, which are in store/dvc.log otherwise.")
    ] = False,
) -> None:
    """Run studies, from data to report/index.html. Finished trials never run again, and an interrupted run resumes.

    Prints first what they cost. The studies are written into params.yaml, where `dvc repro` finds them. A second run in
    the same project waits for the first. Ends with an error if no trial that trains finished.

    [bold]Examples[/bold]: dml run · dml run my-images · dml run paper-eps quickstart
    """
    project = find_project()
    names = valid(project, studies) if studies else chosen_before(project)
    check_outputs(project, names)
    print_costs(project, names, True)
    with project.alone():
        write_chosen(project, names)  # not before: another run may have changed it during the estimate
        try:
            project.repro(verbose=verbose)
        except typer.Exit as ended:
            if ended.exit_code == INTERRUPTED:
                print("\nInterrupted. Finished work is saved: `dml run` resumes.", file=sys.stderr)
            raise
    report = project.root / "report" / "index.html"
    print(f"\nThe report: {report.resolve().as_uri()}\nThe runs:   dml ui   (MLflow)", flush=True)
    for name in names:
        if (told := outcome(project, name)) is not None:
            print(f"\n{name}: {told['text']}\nAs a model: {told['command']}", flush=True)
            with suppress(ValueError):  # `dml recommend` says why there is none
                recommendation(project, name, *[None] * 4)  # its first answer is at once
    lost = [name for name in names if not _print_failures(project, name)]
    if lost:
        raise typer.Exit(1)


def _print_failures(project: Project, study: str) -> bool:
    """Print how many trials failed, and one's error. Returns False if no trial that trains finished, or none at all."""
    import pandas as pd

    from dml.counting import counted
    from dml.losses import closed_form_of

    file = project.results / study / "trials.parquet"
    if not file.is_file():
        return True
    trials = pd.read_parquet(file, columns=["loss", "status", "error"])
    failed = trials[trials["status"] == "failed"]
    if failed.empty:
        return True
    trained = trials[[closed_form_of(loss) is None for loss in trials["loss"]]]
    judged, kind = (trials, "trial") if trained.empty else (trained, "trained trial")
    lost = not (judged["status"] == "finished").any()
    examples = failed[failed.index.isin(judged.index)]
    last = (failed if examples.empty else examples).iloc[-1]
    begin = f"error: {study}: no {kind} finished" if lost else study
    count = f"{len(failed)} of {counted(len(trials), 'trial')} failed"
    error = last["error"].strip().rpartition("\n")[2]
    print(f"{begin}: {count}, such as one of {last['loss']}: {error}", file=sys.stderr)
    return not lost


def status() -> None:
    """Show the progress of sweeps, also while they run in another shell.

    [bold]Example[/bold]: dml status
    """
    project = find_project()

    from dml.sweep.progress.status import describe

    print("\n".join(describe(project.store)) or f"no sweep has run in {project.store}")


def report() -> None:
    """Write report/index.html from the results here and the published ones, without training.

    [bold]Example[/bold]: dml report
    """
    find_project().run("-m", "dml.pipeline", "report")


def publish(studies: Annotated[list[str], study_argument(metavar="STUDY", help="Studies with results here.")]) -> None:
    """Publish studies' results in docs/results, for clones to show without training. Commit their changes first.

    [bold]Examples[/bold]: dml publish eps-table1 · dml publish joint-flowers regime-cars
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
