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


def find_model(text: str) -> Path:
    """The folder of a trained model.

    Parameters
    ----------
    text : a trial's folder or its `model` folder, the first digits of a trial's key, a study (the best seed of its best
        cell), or the URI of a model in MLflow.

    Raises
    ------
    ValueError : there is no such model; the message says what can be named.
    """
    from dml.tracking.loading import is_model_uri, model_folder

    if is_model_uri(text):
        with _tracking() as uri:
            return model_folder(text, uri)
    path = Path(text)
    for folder in (path, path / "model"):
        if (folder / DESCRIPTION).is_file():
            return folder
    nothing = f"{text}: no trained model: expected {DESCRIPTION} and model.safetensors in it or in its model/"
    try:
        project = find_project()
    except ValueError as error:
        if path.is_dir():
            raise ValueError(nothing) from None
        raise ValueError(f"{text}: no such folder. Studies and keys are found in a project only; {error}") from None
    if text == path.name and (project.results / text / "trials.parquet").is_file():
        return _of_study(project, text)  # also where a folder of images has the study's name
    if path.is_dir():
        raise ValueError(nothing)
    if text in project.names():
        raise ValueError(f"study {text!r} has no results here: run it with `dml run {text}`")
    return _of_key(project, text)


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


def _of_study(project: Project, study: str) -> Path:
    """The best seed with a model here, of the cell with the best validation score (without tuning: mean score)."""
    import pandas as pd

    trials = pd.read_parquet(
        project.results / study / "trials.parquet", columns=["key", "cell", "phase", "seed", "status", "objective"]
    )
    done = trials[trials["status"] == "finished"]
    confirmed, tuned = done[done["phase"] == "confirm"], done[done["phase"] == "tune"]
    order = tuned.groupby("cell")["objective"].max() if len(tuned) else confirmed.groupby("cell")["objective"].mean()
    for cell in order.sort_values(ascending=False, kind="stable").index:
        own = confirmed[confirmed["cell"] == cell].sort_values("objective", ascending=False, kind="stable")
        for key in own["key"]:
            folder = project.store / "trials" / key / "model"
            if (folder / DESCRIPTION).is_file():
                return folder
    raise ValueError(
        f"study {study!r}: none of its {len(confirmed)} confirmed trials has a model in {project.store / 'trials'}. "
        f"Published trials have none: `DML_SNAPSHOTS=off dml run {study}` trains them here"
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
    """A model's place and network, for a message."""
    network = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))["network"]
    place = os.path.relpath(folder)
    return (
        f"{place if not place.startswith('..') else folder}: {network['backbone']}, {network['embedding_size']} numbers"
    )
