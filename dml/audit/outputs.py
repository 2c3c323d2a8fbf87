"""What an audit of a study leaves: tables for people, and its summary."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score

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
    return {
        "rate": count / len(wrong),
        "auroc": float(roc_auc_score(wrong, score)),
        "average_precision": float(average_precision_score(wrong, score)),
        "precision": float(wrong[np.argsort(-score, kind="stable")[:count]].mean()),
    }


def lines(content: Mapping[str, Any]) -> list[str]:
    """A summary as lines of text."""
    rate, review = content["rate"], content["review"]
    text = [
        f"{content['images']} images of {content['classes']} classes ({content['labels']}), judged by "
        f"{content['representation']}: {content['suspects']} suspects, "
        f"{content['contradicting_duplicates']} pairs of near-duplicates with different labels",
    ]
    if content["beyond_judgement"]:
        few = list(content["beyond_judgement"])
        text.append(f"beyond judgement, with 1 or 2 images: {', '.join(few[:5])}{', ...' if len(few) > 5 else ''}")
    if review is None:
        warning = f"; {rate['warning']}" if rate.get("warning") else ""
        text.append(f"about {rate['guess']:.1%} of the labels are wrong: a guess without an interval{warning}")
    else:
        text.append(
            f"{review['rate']:.1%} of the labels are wrong, {review['level']:.0%} interval {review['low']:.1%} to "
            f"{review['high']:.1%} ({review['looks']} looks; the first guess was {rate['guess']:.1%})"
        )
    if measured := content["measured"]:
        text.append(
            f"against verified labels: {measured['rate']:.1%} are wrong; AUROC {measured['auroc']:.3f}, average "
            f"precision {measured['average_precision']:.3f}, precision at the true count {measured['precision']:.3f}"
        )
    return [*text, *content.get("data", ()), *filter(None, [content["note"]])]


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
        split_by_seed = splits.by_seed(images.packed.index, sources.build(section.name, **section.settings))
    except ValueError:
        return np.ones(len(images.packed.index), dtype=bool)
    split = split_by_seed[None] if None in split_by_seed else split_by_seed[study.seeds[0]]
    return (split["final"] == "train").to_numpy()


def label_tables(done: AuditRun, trains: np.ndarray) -> dict[str, pd.DataFrame]:
    """By the names of `CHOICES`, the columns index (row of the packed images), label (-1: left out) and path (or
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


def comparing(study: Study, dataset: str, labels: list[Path]) -> str:
    """The text of a study that compares training on labels as given with training on each of the label files.

    Labels as given are the noise `uniform` at rate 0, whose trials the study may have, unless it has verified labels.
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
    text = files.yaml_text(content, allow_unicode=True, width=120)
    return f"# Labels of {study.name} as given, and after its audit (docs/audit.md). {WROTE} {_digest(text)}\n{text}"


def is_edited(text: str) -> bool:
    """Whether a study differs from what `comparing` wrote."""
    head, _, body = text.partition("\n")
    return head.partition(WROTE)[2].strip() != _digest(body)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
