"""Labels to train with after an audit: files of the noise model `label_file`, and a study that compares them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.config import Study
from dml.data import sources, splits
from dml.files import yaml_text
from dml.sweep.auditing.inputs import Audited
from dml.sweep.auditing.reviews import Review
from dml.sweep.auditing.run import AuditRun

LEFT_OUT = -1
WROTE = "`dml audit` wrote this."
CHOICES = {
    "given": "labels as given",
    "left-out": "the suspects are left out",
    "suggested": "the suspects get the label that they look like",
    "reviewed": "the suspects are left out, and what a person looked at is as the person said",
}


def trains(study: Study, images: Audited) -> np.ndarray:
    """Which packed images train, bool (N,). All, if the study cannot train since its classes cannot be split."""
    section = study.dataset(images.dataset)
    try:
        found = splits.by_seed(images.packed.index, sources.build(section.name, **section.settings))
    except ValueError:
        return np.ones(len(images.packed.index), dtype=bool)
    split = found[None] if None in found else found[study.seeds[0]]
    return (split["final"] == "train").to_numpy()


def label_tables(done: AuditRun, trains: np.ndarray) -> dict[str, pd.DataFrame]:
    """By the names of `CHOICES`, the columns index (row of the packed images), label (-1: left out) and path (or
    text), for all images.

    As many labels are suspects as the estimated rate says, or without a review the first guess; `reviewed` is missing
    then. Training images whose label becomes that of a class that never trains are left out.

    Parameters
    ----------
    trains : bool (N,), which of the packed images train.
    """
    found, images, review = done.found, done.images, done.review
    rate = found.rate.guess if review is None else review.estimate.rate
    suspects, given = found.suspects(rate), images.numbers
    number = images.number
    suggested = np.array([number[str(name)] for name in found.suggested.tolist()])
    tables = {
        "given": given,
        "left-out": np.where(suspects, LEFT_OUT, given),
        "suggested": np.where(suspects, suggested, given),
    }
    if review is not None:
        tables["reviewed"] = _reviewed(tables["left-out"], images, review)
    known = np.unique(images.packed.index[images.level].to_numpy()[trains])
    paths, complete = images.packed.index["path"].to_numpy(), {}
    for name, labels in tables.items():
        every = np.full(len(trains), LEFT_OUT, dtype=np.int64)
        every[images.rows] = labels
        every[trains & ~np.isin(every, known)] = LEFT_OUT
        complete[name] = pd.DataFrame({"index": np.arange(len(every)), "label": every, "path": paths})
    return complete


def _reviewed(labels: np.ndarray, images: Audited, review: Review) -> np.ndarray:
    labels, number = labels.copy(), images.number
    for place, answer, label in review.answers[["index", "answer", "label"]].itertuples(index=False):
        if answer == "right":
            labels[place] = images.numbers[place]
        elif answer == "wrong":
            labels[place] = number.get(label, LEFT_OUT)
    return labels


def comparing(study: Study, dataset: str, labels: list[Path]) -> str:
    """The text of a study that compares training on labels as given with training on each of the label files.

    Labels as given are the noise `uniform` at rate 0, whose trials the study itself may have run already, unless the
    study knows verified labels.

    Parameters
    ----------
    labels : the files, relative to the project's folder.
    """
    verified = any(noise.by_given for noise in study.noise)
    as_given = "label_file:given" if verified else "uniform"
    labels = [path for path in labels if verified or path.stem != "given"]
    noise: list[dict[str, Any]] = [] if verified else [{"name": "uniform", "rates": [0.0]}]
    noise += [
        {"name": "label_file", "id": path.stem, "rates": [0.0], "settings": {"path": path.as_posix()}}
        for path in labels
    ]
    content: dict[str, Any] = {
        "extends": study.name,
        "title": f"{study.title}: what the audit found",
        "description": "; ".join(f"{path.stem}: {CHOICES[path.stem]}" for path in labels) + ".",
        "noise": noise,
        "compare": [
            {
                "text": f"Training is better if {CHOICES[path.stem]} than with labels as given.",
                "first": {"noise": f"label_file:{path.stem}"},
                "second": {"noise": as_given},
            }
            for path in labels
            if path.stem != "given"
        ],
        **({"reference_values": None} if study.reference_values else {}),
        **({"audit": None} if study.audit is not None else {}),
    }
    if len(study.datasets) > 1:
        content["datasets"] = [study.dataset(dataset).model_dump(mode="json", exclude_defaults=True)]
    text = yaml_text(content, allow_unicode=True, width=120)
    return f"# Labels of {study.name} as given, and after its audit (docs/audit.md). {WROTE} {_digest(text)}\n{text}"


def is_edited(text: str) -> bool:
    """Whether a study is not, or no more, as `comparing` wrote it. An earlier version wrote no digest."""
    head, _, body = text.partition("\n")
    _, wrote, digest = head.partition(WROTE)
    return not wrote or digest.strip() not in ("", _digest(body))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
