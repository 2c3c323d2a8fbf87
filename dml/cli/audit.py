"""`dml audit`: which labels of a study are wrong, and how many."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dml.cli.audit_text import CHOICES, comparing, is_edited, lines
from dml.cli.check import check_outputs
from dml.cli.project import INTERRUPTED, Project, StudyName, chosen_before, find_project, valid, write_chosen

LABELS = Path("pipelines/labels")
SUFFIX = "-audited"  # of the study that compares training on labels as given and after the audit


def audit(
    study: StudyName,
    review: Annotated[
        Path | None, typer.Option("--review", metavar="FILE", help="The CSV that the audit's page saved, to take in.")
    ] = None,
    review_size: Annotated[
        int | None, typer.Option("--review-size", metavar="N", help="Images that a person is asked to look at.", min=2)
    ] = None,
) -> None:
    """Find labels of a study's images that are probably wrong.

    Trains networks only if the study's section audit asks for them (trained); their training resumes.

    Writes audit/STUDY/index.html: the suspects, and images to look at. The page saves your answers as a CSV; --review
    takes it in: how many labels are wrong, with an interval, and label files to train with.

    [bold]Examples[/bold]: dml audit my-images · dml audit my-images --review review.csv
    """
    from dml.config import audited_dataset, load_study
    from dml.files import read_json
    from dml.own_files import REQUEST, occupied, refusal
    from dml.sweep.execution import cluster

    project = find_project()
    loaded = load_study(Path(os.path.relpath(project.file(study))), parts=False)  # its stages check all of it
    audited_dataset(loaded)
    check_outputs(project, [study], [study])
    if strangers := occupied((project.root / LABELS / study).resolve(), [f"{name}.csv" for name in CHOICES]):
        raise ValueError(refusal(strangers, project.root))  # not only once the audit is done
    done, asking = project.root / "audit" / study, project.root / "pipelines" / "audits" / study
    if review is not None and review_size is not None:
        raise ValueError("--review takes in what was looked at, --review-size asks for other images: give one of them")
    if review is not None and not (done / "plan.json").is_file():
        raise ValueError(f"{study!r} was not audited yet, so there is nothing that was reviewed: dml audit {study}")
    if review is None:
        cluster.check()  # not only once its stages need it
    with project.alone():  # DVC would refuse beside a run, and propose to remove its lock
        if review is not None:
            from dml.audit.study import take_in

            take_in(asking, review, done)
        was_requested = (asking / REQUEST).is_file()
        ask(asking, review_size)
        if study not in project.chosen():
            write_chosen(project, valid(project, [*chosen_before(project), study]))
            print(f"{study} is now among the studies of params.yaml")
        try:
            project.repro(f"audit@{study}")
        except typer.Exit as ended:
            if not was_requested:  # else each later `dvc repro` would fail too
                (asking / REQUEST).unlink()
            if ended.exit_code == INTERRUPTED:
                print(f"\nInterrupted. Finished work is saved: `dml audit {study}` resumes.", file=sys.stderr)
            raise
        if not (done / "summary.json").is_file():  # the folder was deleted, which DVC does not watch
            project.repro("--force", "--single-item", f"audit@{study}")
    print("\n".join(["", *lines(read_json(done / "summary.json")), *written(project, study)]))


def ask(folder: Path, review_size: int | None) -> None:
    """Ask for an audit of a study, with a review of so many images; None: as asked for before, or the study's."""
    from dml.files import read_json, write_json
    from dml.own_files import REQUEST, REVIEW

    request = read_json(folder / REQUEST) or {}
    if review_size is not None and (folder / REVIEW).is_file():
        from dml.audit import ReviewPlan

        looks = len(ReviewPlan.load(folder).rows)
        if looks != review_size:
            raise ValueError(
                f"{folder / REVIEW} is a review of {looks} looks: move it and plan.json away before asking for another "
                "number"
            )
    write_json(folder / REQUEST, request if review_size is None else {**request, "looks": review_size})


def written(project: Project, study: str) -> list[str]:
    """Copy the label files to `pipelines/labels`, where DVC watches them, write a study of them, and say so."""
    from dml.config import load_study
    from dml.files import read_json, write_text
    from dml.own_files import replaced

    done, labels = project.root / "audit" / study, []
    with replaced(project.root / LABELS / study) as fresh:
        for path in (done / "labels" / f"{name}.csv" for name in sorted(CHOICES)):
            if path.is_file():
                labels.append(LABELS / study / path.name)
                write_text(fresh / path.name, path.read_text(encoding="utf-8"))
    summary = read_json(done / "summary.json")
    file = project.file(study + SUFFIX)
    text = comparing(load_study(project.file(study), parts=False), summary["dataset"], labels)
    edited = file.is_file() and is_edited(file.read_text(encoding="utf-8"))
    if not edited:
        write_text(file, text)
    shown = [
        f"The suspects, and images to look at: {(done / 'index.html').resolve().as_uri()}",
        f"Labels to train with: {', '.join(path.as_posix() for path in labels)}",
    ]
    if summary["suspects"] or summary["review"]:  # else all of them are the labels as given
        shown.append(f"Compare them:         dml run {file.stem}" + " (your own file, left as it is)" * edited)
    if summary["review"] is None:
        shown.append(f"After a review:       dml audit {study} --review review.csv")
    return shown
