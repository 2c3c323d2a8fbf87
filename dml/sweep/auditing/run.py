"""The audit of a study: from its packed images to what was found, with the review that was taken in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dml import audit
from dml.audit import Audit, ReviewPlan
from dml.config import AuditSection, Study
from dml.sweep.auditing import workers
from dml.sweep.auditing.inputs import Audited, audited, representations
from dml.sweep.auditing.reviews import Review, asked, taken
from dml.sweep.auditing.trained_vectors import TrainedVectors

TRAINED = "trained"  # the representation that networks of the study learn
EVERY = 5.0  # seconds between two lines of progress


@dataclass(frozen=True)
class AuditRun:
    """An audit of a study, complete."""

    images: Audited
    vectors: np.ndarray | list[np.ndarray]  # float32 (n, D), of the representation that was used; of each fold its own
    folds: np.ndarray | None  # int64 (n,), the fold of each image where each has its own vectors, -1: beyond judgement
    found: Audit
    plan: ReviewPlan  # that of the review, if one was taken in
    review: Review | None
    note: str  # why a review that was taken in is not used; empty: it is, or there is none


def run_audit(
    study: Study, data_root: Path, store: Path, asking: Path, report: Callable[[str], None] = print
) -> AuditRun:
    """Audit a study's labels. An interrupted audit resumes at the fold where it stopped.

    Parameters
    ----------
    data_root : the folder with the data stages' outputs (`data/<study>`).
    store : features are in its folder `features`, finished folds in `audits/<study>`.
    asking : the folder with what a person asked and answered (`dml.sweep.auditing.reviews`).

    Raises
    ------
    ValueError : the labels or images cannot be audited.
    """
    section, request = study.audit or AuditSection(), asked(asking) or {}
    images = audited(study, section, data_root)
    folder = store / "audits" / study.name
    vectors = representations(study, section, images, store / "features", report)
    trained = None
    if section.trained is not False:
        run = workers.over_ray(study.resources)
        trained = TrainedVectors(study, section, images, data_root, folder / "trained", run, report)
    found = audit.audit(
        vectors if trained is None else {**vectors, TRAINED: trained},
        images.labels,
        folds=section.folds,
        neighbours=section.neighbours,
        seed=section.seed,
        folder=folder,
        progress=_progress(study.name, report),
    )
    if trained is not None:
        trained.finish()
    review, note = None, ""
    try:
        review = taken(asking, found, images.paths)
    except ValueError as error:
        note = f"the review is not used: {error}"
    size = min(request.get("looks") or section.review_size, int(np.isfinite(found.score).sum()))
    plan = audit.review_plan(found, size, section.seed) if review is None else review.plan
    if trained is None or found.representation != TRAINED:
        return AuditRun(images, vectors[found.representation], None, found, plan, review, note)
    dealt = audit.folds_of(images.labels, section.folds, section.seed)
    return AuditRun(images, trained.vectors, dealt, found, plan, review, note)


def _progress(study: str, report: Callable[[str], None]) -> Callable[[float, str], None]:
    """Reports the share done at most every few seconds."""
    said = time.monotonic()

    def progress(share: float, what: str) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            report(f"audit {study}: {share:.0%} ({what})")

    return progress
