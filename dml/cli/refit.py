"""`dml refit`: refit a study's winner on all data, and register it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dml.cli.project import Project, StudyName, check_name, find_project
from dml.cli.recommend import Dataset, Noise, Rate, Score, find_recommendation, load_results
from dml.files import LONGEST_NAME, is_study_name

if TYPE_CHECKING:
    from dml.report.results import Results


def refit(
    study: StudyName,
    rate: Rate = None,
    dataset: Dataset = None,
    noise: Noise = None,
    score: Score = None,
    name: Annotated[str, typer.Option("--name", help="Of the registered model. [default: the study]")] = "",
    labels: Annotated[
        Path | None, typer.Option("--labels", exists=True, help="A label file (index, label) to train with.")
    ] = None,
    free: Annotated[
        bool,
        typer.Option(
            "--free", help="The best method that trains nothing, such as whitening, in its place. Needs no results."
        ),
    ] = False,
    onnx: Annotated[bool, typer.Option("--onnx", help="Also write an ONNX file, and check it (extra `onnx`).")] = False,
) -> None:
    """Refit a study's winner on labels as given with all classes and images, and register it as the champion.

    The labels are those of the dataset, as they are. --rate and --noise take the winner of other labels, as for dml
    recommend, which says why it is. An interrupted training resumes.

    [bold]Examples[/bold]: dml refit my-images · dml refit my-images --labels labels.csv --onnx
    """
    name = name or study
    if not is_study_name(name):  # also of a folder in store/champions
        raise typer.BadParameter(
            f"{name!r}: expected only letters, digits and the signs . _ -, the first a letter or a digit, at most "
            f"{LONGEST_NAME} bytes",
            param_hint="--name",
        )
    if onnx:
        from dml.training.model_files import check_extra

        check_extra()
    project = find_project()
    recipe, results = _chosen(project, study, rate, dataset, noise, score, free)
    cell = recipe["methods"][0]["cell"]
    print(f"{results.methods[cell].label}: {recipe['chosen']}{', without training' if free else ''}", flush=True)
    from dml.sweep.champions import Winner, train_champion

    _pack(project, study)
    winner = Winner(results.study, results.cells[cell], recipe["settings"], recipe["rate"], recipe, labels)
    try:
        made = train_champion(winner, name, project.data(study), project.store, project.results, _shown(name))
    except KeyboardInterrupt:
        print("\nThe same command resumes from the last checkpoint.", file=sys.stderr)
        raise
    if onnx:
        from dml.training.model_files import ONNX, export_onnx

        if not (made.folder / ONNX).is_file():  # one that is there was checked
            export_onnx(made.folder)
        print(f"{made.folder / ONNX}: checked with onnxruntime against torch", flush=True)
    uri = os.environ.get("MLFLOW_TRACKING_URI") or project.root / "mlflow.db"
    version, address = _register(project, study, name), f"models:/{name}@champion"
    print(f"\n{address} (version {version}) at {uri}\nIts files: {os.path.relpath(made.folder)}")
    images = results.study.dataset(recipe["dataset"]).passes_on is None
    print(f"To use it: dml embed {address} {'IMAGES... -o vectors.npy' if images else 'VECTORS.npy -o embedded.npy'}")


def _chosen(
    project: Project,
    study: str,
    rate: float | None,
    dataset: str | None,
    noise: str | None,
    score: str | None,
    free: bool,
) -> tuple[dict[str, Any], Results]:
    """What to refit, first of the recommendation's methods, for the card; and the study's results."""
    check_name(project, study)
    from dml.report.recommendation import best_free, settings_of, trains, uncompared

    if free and (results := load_results(project, study)).confirmed.empty:
        return uncompared(results, dataset, noise), results
    best, source, results = find_recommendation(project, study, rate, dataset, noise, score)
    recipe, cell = best.content() | {"rate_source": source}, best.winner.cell
    if free:
        cell = best_free(best, results).cell
        recipe["methods"] = sorted(recipe["methods"], key=lambda rival: rival["cell"] != cell)
    elif not trains(results, cell):
        raise ValueError(
            f"{best.winner.method}, the best of {study} {best.labels}, is the embedding before any step of training: "
            f"there is nothing to train. What is free as a model: dml refit {study} --free"
        )
    settings = settings_of(results, cell)
    return recipe | {"settings": settings, "chosen": f"the best of {study} {best.labels}"}, results


def _pack(project: Project, study: str) -> None:
    for stage in ("resolve", "download", "pack"):  # nothing that did not change is packed again
        project.run("-m", "dml.pipeline", stage, study)


def _register(project: Project, study: str, name: str) -> int:
    """Register the champion. Returns its version."""
    from dml.tracking.connection import default_uri
    from dml.tracking.sync import version_of

    if project.run("-m", "dml.pipeline", "sync", study, check=False):
        raise ConnectionError(f"The champion is trained, but not in MLflow: `dml sync {study}` registers it.")
    with chdir(project.root):
        return version_of(name, default_uri())


def _shown(name: str) -> Callable[[int, int], None]:
    from dml.data.packing import ProgressLine

    line: ProgressLine | None = None

    def say(step: int, total: int) -> None:
        nonlocal line
        line = line or ProgressLine(f"training {name}, step", total, lambda text: print(text, file=sys.stderr))
        line(step)

    return say
