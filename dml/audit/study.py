"""The audit of a study, and what a person asked and answered: `pipelines/audits/<study>`, which the stage reads.

`request.json` says that the study is audited, and its review size; `plan.json` and `review.csv` are a taken-in review.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import audit, files
from dml.audit import Audit, Estimate, ReviewPlan
from dml.audit.images import Audited, audited, representations
from dml.audit.training import TrainedVectors, on_ray
from dml.config import AuditSection, Study
from dml.counting import counted
from dml.discovery import suggestion
from dml.own_files import REQUEST, REVIEW
from dml.tables import integers, read_rows

COLUMNS = ("index", "answer", "given", "path", "label", "audit")  # as the page writes them; two are needed


@dataclass(frozen=True)
class Review:
    """Answers that were taken in."""

    plan: ReviewPlan
    answers: pd.DataFrame  # COLUMNS, as text but for `index`; empty cells are empty text
    estimate: Estimate


def read_review(path: Path) -> pd.DataFrame:
    """The answers of a CSV file, one row for each image that was looked at."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file: expected the CSV that the audit's page saved")
    table, rows = read_rows(path)
    for name in COLUMNS[:2]:
        if name not in table:
            raise ValueError(f"{path}: no column {name!r}{suggestion(name, list(table.columns))}")
    for name in COLUMNS[2:]:
        if name not in table:
            table[name] = ""
    table = table[list(COLUMNS)].fillna("").astype(str).assign(line=rows)
    table = table[table["answer"].str.strip() != ""].reset_index(drop=True)
    if table.empty:
        raise ValueError(f"{path}: no image has an answer ({', '.join(audit.ANSWERS)})")
    index = integers(path, table, table.pop("line").tolist(), "index")
    return table.assign(index=index, answer=table["answer"].str.strip())


def check_review(path: Path, plan: ReviewPlan, answers: pd.DataFrame, classes: set[str]) -> Estimate:
    """The estimate of a review, which must belong to the plan."""
    other = set(answers["audit"]) - {"", plan.digest}
    if other:
        raise ValueError(
            f"{path}: a review of another audit (of other images, labels or representations, or before they changed): "
            f"its digest is {min(other)[:12]}, expected {plan.digest[:12]}"
        )
    planned = dict(zip(plan.rows.tolist(), map(str, plan.given.tolist()), strict=True))
    given = [label or planned.get(row) for row, label in zip(answers["index"], answers["given"], strict=True)]
    try:
        estimate = audit.estimate(plan, answers.assign(given=given))
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).removeprefix('estimate: ')}") from error
    for row, label in answers.loc[answers["answer"] == "wrong", ["index", "label"]].itertuples(index=False):
        if label and label not in classes:
            raise ValueError(f"{path}: image {row}: label: {label!r} is no class{suggestion(label, sorted(classes))}")
    return estimate


def requested(folder: Path) -> dict[str, Any] | None:
    """What was asked for; None: nothing."""
    if not (folder / REQUEST).is_file():
        return None
    request = files.read_json(folder / REQUEST)
    size = request.get("looks") if isinstance(request, dict) else ""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 2):
        raise ValueError(f'{folder / REQUEST}: expected {{}} or {{"looks": a whole number, at least 2}}')
    return request


def take_in(folder: Path, review: Path, done: Path) -> Estimate:
    """Check a review of the audit in `done`, and keep it in `folder`, with answers of the one before that it lacks."""
    plan, answers = audit.ReviewPlan.load(done), read_review(review)
    if (folder / REVIEW).is_file() and audit.ReviewPlan.load(folder).digest == plan.digest:
        earlier = read_review(folder / REVIEW)
        if len(stay := earlier[~earlier["index"].isin(answers["index"]) & earlier["index"].isin(plan.rows)]):
            print(f"{counted(len(stay), 'answer')} of the review before, of images that {review} lacks, stay")
            answers = pd.concat([answers, stay], ignore_index=True)
    table = pd.read_csv(done / "audit.csv", usecols=["given"], dtype=str, keep_default_na=False)
    share = check_review(review, plan, answers, set(table["given"]))
    plan.save(folder)
    with files.replacing(folder / REVIEW) as temporary:
        answers.to_csv(temporary, index=False)
    return share


def taken(folder: Path, current: Audit) -> Review | None:
    """The review that was taken in; None if there is none."""
    path = folder / REVIEW
    if not path.is_file():
        return None
    plan, answers = audit.ReviewPlan.load(folder), read_review(path)
    if plan.digest != current.digest:
        raise ValueError(
            f"{path} is a review of other images, labels or representations than the study has now: move it and "
            "plan.json away, or restore what was reviewed"
        )
    return Review(plan, answers, check_review(path, plan, answers, set(current.labels.tolist())))


TRAINED = "trained"  # the representation that networks of the study learn


@dataclass(frozen=True)
class AuditRun:
    """An audit of a study, complete."""

    images: Audited
    vectors: np.ndarray | list[np.ndarray]  # float32 (n, D), of the representation that was used; of each fold its own
    folds: np.ndarray | None  # int64 (n,), the fold of each image where each has its own vectors, -1: beyond judgement
    audit: Audit
    plan: ReviewPlan  # that of the review, if one was taken in
    review: Review | None
    note: str  # why a review that was taken in is not used; empty: it is, or there is none


def run_audit(
    study: Study, data_root: Path, store: Path, asking: Path, report: Callable[[str], None] = print
) -> AuditRun:
    """Audit a study's labels. Interrupted trainings resume."""
    section, request = study.audit or AuditSection(), requested(asking) or {}
    images = audited(study, data_root)
    folder = store / "audits" / study.name
    vectors = representations(study, images, store / "features", report)
    trained = None
    if section.trained is not False:
        run = partial(on_ray, study.resources)
        trained = TrainedVectors(study, section, images, data_root, folder / "trained", run, report)
    report(f"audit {study.name}: judging {len(images.labels)} labels")
    result = audit.audit(vectors if trained is None else {**vectors, TRAINED: trained}, images.labels)
    review, note = None, ""
    try:
        review = taken(asking, result)
    except ValueError as error:
        note = f"the review is not used: {error}"
    size = min(request.get("looks") or section.review_size, int(np.isfinite(result.score).sum()))
    plan = audit.review_plan(result, size) if review is None else review.plan
    if trained is None or result.representation != TRAINED:
        return AuditRun(images, vectors[result.representation], None, result, plan, review, note)
    dealt = audit.folds_of(images.labels)
    return AuditRun(images, trained.vectors, dealt, result, plan, review, note)
