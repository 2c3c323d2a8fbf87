"""What an audit of a study leaves: tables for people, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import average_precision_score, roc_auc_score

from dml import files
from dml.audit import Audit
from dml.sweep.auditing.inputs import verified
from dml.sweep.auditing.run import AuditRun


def write_tables(folder: Path, done: AuditRun) -> list[Path]:
    """Write `audit.csv` (the most suspicious first), `classes.csv`, `confusions.csv`, `duplicates.csv` and `plan.csv`.

    The column `row` is the image's row in the packed data. Also `audit.json`, `audit.parquet`, `duplicates.parquet`
    and `plan.json`, which `Audit.load` and `ReviewPlan.load` read.
    """
    found, plan, images = done.found, done.plan, done.images
    found.save(folder)
    plan.save(folder)
    paths = np.array(images.paths, dtype=object)
    table = found.table().assign(row=images.rows, path=paths).sort_values("score", ascending=False, kind="stable")
    pairs = found.duplicates.assign(
        path_first=paths[found.duplicates["first"].to_numpy(dtype=np.int64)],
        path_second=paths[found.duplicates["second"].to_numpy(dtype=np.int64)],
    )
    tables = {
        "audit": table,
        "classes": found.classes(),
        "confusions": found.confusions(),
        "duplicates": pairs,
        "plan": plan.table().assign(path=paths[plan.rows]),
    }
    return write_csvs(folder, tables)


def write_csvs(folder: Path, tables: Mapping[str, pd.DataFrame]) -> list[Path]:
    """Write the tables as `<folder>/<name>.csv`, each atomically; their paths."""
    written = []
    for name, table in tables.items():
        written.append(folder / f"{name}.csv")
        with files.replacing(written[-1]) as temporary:
            table.to_csv(temporary, index=False)
    return written


def summary(study: str, done: AuditRun) -> dict[str, Any]:
    """The audit in numbers, as plain JSON values. Where labels are verified, it says how good the audit was."""
    found, images, truth = done.found, done.images, verified(done.images)
    return {
        "study": study,
        "dataset": images.dataset,
        "labels": f"{images.level} labels as given",
        "images": len(found.labels),
        "classes": len(np.unique(found.labels)),
        "suspects": int(found.suspects().sum()),
        "contradicting_duplicates": len(found.duplicates),
        "beyond_judgement": {str(label): count for label, count in found.beyond.items()},
        "representation": found.representation,
        "losses": dict(found.losses),
        "rate": {**asdict(found.rate), "assumption": found.rate.assumption, "warning": found.rate.warning},
        "looks": len(done.plan.rows),
        "review": None if done.review is None else asdict(done.review.estimate),
        "measured": None if truth is None else measure(found, images.numbers != truth),
        "note": done.note,
        "digest": found.digest,
    }


def measure(found: Audit, wrong: np.ndarray) -> dict[str, float] | None:
    """How well the scores rank the labels that are wrong (bool (n,)); None unless some judged labels are, and some not.

    `precision` is that of as many suspects as there are wrong labels.
    """
    judged = np.isfinite(found.score)
    wrong, score = wrong[judged], found.score[judged]
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
    if content["measured"]:
        measured = content["measured"]
        text.append(
            f"against verified labels: {measured['rate']:.1%} are wrong; AUROC {measured['auroc']:.3f}, average "
            f"precision {measured['average_precision']:.3f}, precision at the true count {measured['precision']:.3f}"
        )
    return [*text, *content.get("data", ()), *filter(None, [content["note"]])]
