"""Scores of the features that a study's frozen trials start from, to compare the trained heads with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dml.sweep.cells import Job
from dml.sweep.plan import Plan

Scores = dict[str, dict[str, dict[str, float]]]
"""By dataset and name of the features: scores by `<set>/<level>/<metric>`."""


def features_alone(plan: Plan, data_root: Path, report: Callable[[str], None] = print) -> Scores:
    """Scores without a head of all features that confirmed trials start from; empty if none is frozen.

    What cannot be scored is reported and left out: the trials' own results do not need it.
    """
    confirmed = (job for job, _ in plan.ended() if job.phase == "confirm" and job.spec.training.frozen)
    frozen = {(job.cell.dataset, repr(job.spec.training)): job for job in confirmed}
    try:
        return _scored(list(frozen.values()), data_root, report)
    except (OSError, ValueError) as error:
        report(f"{plan.study.name}: the features have no scores of their own: {error}")
        return {}


def _scored(jobs: list[Job], data_root: Path, report: Callable[[str], None]) -> Scores:
    if not jobs:
        return {}
    from dml.training.frozen.alone import name_of, scores_alone

    found: Scores = {}
    for job in jobs:
        own, name = found.setdefault(job.cell.dataset, {}), name_of(job.spec, data_root)
        if name not in own:
            report(f"{job.cell.dataset}: scoring the features without a head ({name})")
            own[name] = scores_alone(job.spec, data_root)
    return found
