"""What an audit of a study leaves: tables for people, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import files
from dml.audit import Audit
from dml.audit.images import Audited, verified
from dml.audit.study import AuditRun
from dml.config import Study
from dml.data import sources, splits


def write_tables(folder: Path, done: AuditRun) -> None:
    """Write `audit.csv` (the most suspicious first), `classes.csv`, `confusions.csv`, `duplicates.csv` and `plan.csv`.

    The column `row` is the image's row in the packed data. `ReviewPlan.load` reads `plan.json`.
    """
    audit, plan, images = done.audit, done.plan, done.images
    plan.save(folder)
    paths = np.array(images.paths, dtype=object)
    table = audit.table().assign(row=images.rows, path=paths).sort_values("score", ascending=False, kind="stable")
    pairs = audit.duplicates.assign(
        path_first=paths[audit.duplicates["first"].to_numpy(dtype=np.int64)],
        path_second=paths[audit.duplicates["second"].to_numpy(dtype=np.int64)],
    )
    tables = {
        "audit": table,
        "classes": audit.classes(),
        "confusions": audit.confusions(),
        "duplicates": pairs,
        "plan": plan.table().assign(path=paths[plan.rows]),
    }
    write_csvs(folder, tables)


def write_csvs(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write the tables as `<folder>/<name>.csv`, each atomically."""
    for name, table in tables.items():
        with files.replacing(folder / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False)


def summary(study: str, done: AuditRun) -> dict[str, Any]:
    """The audit in numbers, as plain JSON values. Where labels are verified, it says how good the audit was."""
    audit, images, truth = done.audit, done.images, verified(done.images)
    return {
        "study": study,
        "dataset": images.dataset,
        "labels": f"{images.level} labels as given",
        "images": len(audit.labels),
        "classes": len(np.unique(audit.labels)),
        "suspects": int(audit.suspects().sum()),
        "contradicting_duplicates": len(audit.duplicates),
        "beyond_judgement": {str(label): count for label, count in audit.beyond.items()},
        "representation": audit.representation,
        "settings": dict(audit.settings),
        "losses": dict(audit.losses),
        "rate": {**asdict(audit.rate), "assumption": audit.rate.assumption, "warning": audit.rate.warning},
        "looks": len(done.plan.rows),
        "review": None if done.review is None else asdict(done.review.estimate),
        "measured": None if truth is None else measure(audit, images.numbers != truth),
        "note": done.note,
        "digest": audit.digest,
    }


def measure(audit: Audit, wrong: np.ndarray) -> dict[str, float] | None:
    """How well the scores rank the labels that are wrong (bool (n,)); None unless some judged labels are, and some not.

    `precision` is that of as many suspects as there are wrong labels.
    """
    judged = np.isfinite(audit.score)
    wrong, score = wrong[judged], audit.score[judged]
    count = int(wrong.sum())
    if not 0 < count < len(wrong):
        return None
    from sklearn.metrics import average_precision_score, roc_auc_score  # few audits have the truth to compare with

    return {
        "rate": count / len(wrong),
        "auroc": float(roc_auc_score(wrong, score)),
        "average_precision": float(average_precision_score(wrong, score)),
        "precision": float(wrong[np.argsort(-score, kind="stable")[:count]].mean()),
    }


LEFT_OUT = -1


def trains(study: Study, images: Audited) -> np.ndarray:
    """Which packed images train, bool (N,). All, if the study cannot train since its classes cannot be split."""
    section = study.dataset(images.dataset)
    try:
        split_by_seed = splits.by_seed(images.packed.index, sources.build(section.name, **section.settings))
    except ValueError:
        return np.ones(len(images.packed.index), dtype=bool)
    split = split_by_seed[None] if None in split_by_seed else split_by_seed[study.seeds[0]]
    return (split["final"] == "train").to_numpy()


def label_tables(done: AuditRun, trains: np.ndarray) -> dict[str, pd.DataFrame]:
    """By the names of the label files, the columns index (row of the packed images), label (-1: left out) and path (or
    text), for all images.

    As many labels are suspects as the rate of the review says; without one, as the first guess says, and `reviewed` is
    missing. Training images whose label becomes that of a class that never trains are left out.
    """
    audit, images, review = done.audit, done.images, done.review
    rate = audit.rate.guess if review is None else review.estimate.rate
    suspects, given = audit.suspects(rate), images.numbers
    numbers = dict(zip(images.labels.tolist(), given.tolist(), strict=True))
    suggested = np.array([numbers[str(name)] for name in audit.suggested.tolist()])
    tables = {
        "given": given,
        "left-out": np.where(suspects, LEFT_OUT, given),
        "suggested": np.where(suspects, suggested, given),
    }
    if review is not None:
        tables["reviewed"] = labels = tables["left-out"].copy()
        for index, answer, label in review.answers[["index", "answer", "label"]].itertuples(index=False):
            if answer != "unsure":
                labels[index] = given[index] if answer == "right" else numbers.get(label, LEFT_OUT)
    training_labels = np.unique(images.packed.index[images.level].to_numpy()[trains])
    paths, complete = images.packed.index["path"].to_numpy(), {}
    for name, labels in tables.items():
        every = np.full(len(trains), LEFT_OUT, dtype=np.int64)
        every[images.rows] = labels
        every[trains & ~np.isin(every, training_labels)] = LEFT_OUT
        complete[name] = pd.DataFrame({"index": np.arange(len(every)), "label": every, "path": paths})
    return complete
