"""Finds a trained model by what a user calls it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from dml.cli.project import Project, find_project

DESCRIPTION = "model.json"
SHOWN = 5
NOTHING = f"{{text}}: no trained model: expected {DESCRIPTION} and model.safetensors in it or in its model/"


def find_model(text: str, dataset: str | None = None, noise: str | None = None) -> Path:
    """The folder of a trained model.

    Parameters
    ----------
    text : a trial's folder or its `model` folder, the first digits of a trial's key, a study (the best seed of its best
        cell with labels as given), or the URI of a model in MLflow.
    dataset : of a study; None: its only one.
    noise : of a study, a noise or a level (`uniform-0.2`) in place of labels as given.

    Raises
    ------
    ValueError : there is no such model, or it must be said which one of a study; with the choices.
    """
    from dml.tracking.loading import is_model_uri, model_folder

    if is_model_uri(text):
        with _tracking() as uri:
            folder = model_folder(text, uri)
    elif (here := model_folder_of(Path(text))) is not None:
        folder = here
    else:
        project = _project_with(text)
        if text == Path(text).name and (project.results / text / "trials.parquet").is_file():
            return _of_study(project, text, dataset, noise)  # also where a folder of images has the study's name
        if Path(text).is_dir():
            raise ValueError(NOTHING.format(text=text))
        if text in project.names():
            raise ValueError(f"study {text!r} has no results here: run it with `dml run {text}`")
        folder = _of_key(project, text)
    if dataset is not None or noise is not None:
        raise ValueError(f"{text}: is one model: --dataset and --noise choose among those of a study")
    return folder


def model_folder_of(folder: Path) -> Path | None:
    """The folder of a model that is given by its own folder, or that of its trial; None if it is not."""
    return next((path for path in (folder, folder / "model") if (path / DESCRIPTION).is_file()), None)


def _project_with(text: str) -> Project:
    """The project, in which studies and keys are found."""
    try:
        return find_project()
    except ValueError as error:
        if Path(text).is_dir():
            raise ValueError(NOTHING.format(text=text)) from None
        raise ValueError(f"{text}: no such folder. Studies and keys are found in a project only; {error}") from None


@contextmanager
def _tracking() -> Iterator[str | None]:
    """MLflow's backend: in a project its database needs no MLFLOW_TRACKING_URI, and its folder is the working one."""
    from dml.tracking.connection import default_uri

    try:
        project = find_project()
    except ValueError:
        yield None
        return
    with chdir(project.root):
        yield default_uri()


def _of_study(project: Project, study: str, dataset: str | None, noise: str | None) -> Path:
    """The best seed with a model here, of the cell with the best validation score (without tuning: mean score).

    Of several class splits that of the first with a model: scores on other classes do not compare.
    """
    import pandas as pd

    from dml.sweep.store.best_cells import cells_for_use, validation_scores

    trials = cells_for_use(pd.read_parquet(project.results / study / "trials.parquet"), study, dataset, noise)
    confirmed, order = trials[trials["phase"] == "confirm"], validation_scores(trials)
    if order.empty:
        order = confirmed.groupby("cell")["objective"].mean().sort_values(ascending=False, kind="stable")
    by = ["split", "objective"] if "split" in confirmed else ["objective"]
    for cell in order.index:
        own = confirmed[confirmed["cell"] == cell].sort_values(by, ascending=[name == "split" for name in by])
        for key in own["key"]:
            folder = project.store / "trials" / key / "model"
            if (folder / DESCRIPTION).is_file():
                return folder
    raise ValueError(
        f"study {study!r}: none of its {len(confirmed)} confirmed trials with these labels has a model in "
        f"{project.store / 'trials'}. Published trials have none: `DML_SNAPSHOTS=off dml run {study}` trains them here"
    )


def _of_key(project: Project, digits: str) -> Path:
    from dml.discovery import suggestion

    folders = sorted((project.store / "trials").glob(f"{digits}*")) if digits.isalnum() else []
    with_model = [folder / "model" for folder in folders if (folder / "model" / DESCRIPTION).is_file()]
    if len(with_model) == 1:
        return with_model[0]
    if with_model:
        shown = ", ".join(folder.parent.name[: len(digits) + 6] for folder in with_model[:SHOWN])
        raise ValueError(f"{digits}: {len(with_model)} trials begin with this: {shown}; give more digits")
    if folders:
        raise ValueError(f"{folders[0].name}: this trial has no model: only confirmed trials that finished have one")
    studies = sorted(path.parent.name for path in project.results.glob("*/trials.parquet"))
    raise ValueError(
        f"{digits!r}: expected a trial's folder, digits of its key, a model of MLflow (models:/...), or a study with "
        f"results{suggestion(digits, studies)}"
    )


def describe(folder: Path) -> str:
    """A model's place and network, and the noise if it was not trained with labels as they are, for a message."""
    from dml.config.for_use import makes_noise
    from dml.files import read_json
    from dml.types import NoiseLevel

    network = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))["network"]
    noise = (read_json(folder.parent / "spec.json") or {}).get("spec", {}).get("noise", {})
    relative = os.path.relpath(folder)
    place = relative if not relative.startswith("..") else folder
    text = f"{place}: {network['backbone']}, {network['embedding_size']} numbers"
    if not noise.get("rate") or not makes_noise(noise["model"]):
        return text
    return f"{text}; trained at {NoiseLevel(noise['model'], noise['rate'])}, not with labels as given"
