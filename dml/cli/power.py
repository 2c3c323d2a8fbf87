"""What a study can tell apart, before it runs: from the spread over seeds of results that exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dml.cli.project import Project

if TYPE_CHECKING:
    from dml.config import Study
    from dml.report.analysis.precision import Spread
    from dml.sweep.cost.estimate import Estimate

POINTS = 2.0  # a difference that is worth knowing


def tells_apart(project: Project, name: str, estimate: Estimate) -> str:
    """The difference from the winner that a study finds with a chance of 80%, and what 2 points need.

    The spread of differences is that of the study's own results, here or published, else of published studies of the
    same datasets with the same objective.
    """
    from dml.config import load_study
    from dml.report.analysis.precision import most_comparisons
    from dml.report.labels import metric_label
    from dml.sweep.cost.estimate import duration_text

    study = load_study(project.file(name))
    tests, seeds = most_comparisons(study), len(study.blocks)
    if study.splits > 1:
        return "  power: not known: published spreads are over seeds, and this study compares class splits"
    if not tests:
        return ""
    found, source = _spread(project, study)
    if found is not None and not study.search.tunes:
        found = replace(found, searches=0.0)
    if found is None:
        return f"  power: not known: {source}"
    metric = metric_label(study.search.objective)
    if seeds < 2:
        text = "  power: one seed tells nothing apart"
    else:
        lead = found.detectable(seeds, tests)
        text = f"  power: {seeds} seeds find a lead of {lead:.1f} points of {metric} in 80% of cases"
    needed = found.seeds_for(POINTS, tests)
    if needed is None:
        text += f"; for {POINTS:g} points no seeds are enough with one search: more tuning trials or class_splits are"
    elif needed > seeds:
        text += f"; {POINTS:g} points need {needed} seeds"
        if estimate.trial_seconds:
            added = (needed - seeds) * estimate.cells * estimate.trial_seconds / estimate.slots
            text += f", about {duration_text(added)} more"
    comparisons = f", {tests} comparisons" if tests > 1 else ""
    searches = f", of the searches {found.searches**0.5:.1f}" if found.searches else ""
    return f"{text} (spread of a difference: {found.points:.1f} points{searches}, {source}{comparisons})"


def _spread(project: Project, study: Study) -> tuple[Spread | None, str]:
    """The spread of differences, and where it is from or why it is not known."""
    from dml.report.analysis.precision import pooled, spread
    from dml.report.loading import load
    from dml.snapshots import Snapshot

    own = spread(load(study, project.results / study.name, snapshot=Snapshot(project.snapshots / study.name)))
    if own is not None and own.points:
        return own, "its own results"
    found = {
        other.name: spread(load(other, Path(), snapshot=Snapshot(project.snapshots / other.name)))
        for other in _alike(project, study)
    }
    found = {name: one for name, one in found.items() if one is not None}
    known = pooled(found.values())
    if known is None or not known.points:
        datasets = ", ".join(dict.fromkeys(dataset.label for dataset in study.datasets))
        return None, f"no results of {datasets} with two methods and two seeds yet"
    return known, f"published results of {', '.join(found)}"


def _alike(project: Project, study: Study) -> Iterator[Study]:
    """Published studies with the same objective, of datasets that this study has, and of no other."""
    from dml.config import load_study

    labels = {dataset.label for dataset in study.datasets}
    for name in project.names():
        if (project.snapshots / name).is_dir() and name != study.name:
            other = load_study(project.file(name))
            if other.search.objective == study.search.objective and {d.label for d in other.datasets} <= labels:
                yield other
