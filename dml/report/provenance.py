"""What was run: the figures at the head of a study's page, and its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dml.report.results import Results
from dml.report.table import NOTHING, duration


def facts(results: Results) -> list[tuple[str, str, str]]:
    """(label, value, smaller print) for the head of the page."""
    study, trials = results.study, results.trials
    budget = "defaults" if study.search.sampler == "fixed" else f"{study.search.trials} trials a cell"
    counts = trials["status"].value_counts()
    others = [f"{int(counts[s])} {s}" for s in ("failed", "pruned") if counts.get(s)]
    rates = sorted({cell.rate for cell in results.cells.values()})
    spread = f"label noise {rates[0]:.0%} to {rates[-1]:.0%}" if len(rates) > 1 else f"label noise {rates[0]:.0%}"
    return [
        ("Data", ", ".join(dataset.label for dataset in study.datasets), spread),
        ("Cells", f"{len(results.cells):,}", f"{len(set(results.methods.values()))} methods"),
        ("Trials", f"{int(counts.get('finished', 0)):,}", ", ".join(["finished", *others])),
        ("Seeds", f"{len(study.seeds)}", "a cell, with its best settings"),
        ("Search", budget, study.search.sampler),
        ("Training", duration(float(trials["seconds"].sum())) if len(trials) else NOTHING, "all trials together"),
    ]


def provenance(results: Results) -> list[tuple[str, str]]:
    """(label, value) pairs: what the study says, and what `summary.json` recorded."""
    study = results.study
    training, batch = study.training, study.training.batch
    found = [
        ("Trained on", ", ".join(f"{d.label}: {d.train_on} labels" for d in study.datasets)),
        ("Evaluated on", ", ".join(f"{d.label}: {' and '.join(d.evaluate_on)} labels" for d in study.datasets)),
        ("Network", f"{training.backbone}, {training.embedding_size} dimensions"),
        (
            "Batches",
            f"{batch.classes} classes \N{MULTIPLICATION SIGN} {batch.per_class} images, {training.steps:,} steps",
        ),
        ("Optimiser", f"{training.optimizer}, learning rate {training.learning_rate:g}"),
        ("Seeds", ", ".join(map(str, study.seeds))),
    ]
    summary = results.summary
    started = sorted(_minute(value) for value in results.trials["started"].dropna() if value)
    if started:
        found.append(("Trials started", f"{started[0]} to {started[-1]}" if started[-1] > started[0] else started[0]))
    if isinstance(summary.get("seconds"), int | float):
        reused = summary.get("already_done", 0)
        found.append(("Last sweep", duration(summary["seconds"]) + (f", {reused:,} trials done before" * bool(reused))))
    if summary.get("git_commit"):
        found.append(("Git commit", str(summary["git_commit"])))
    if isinstance(summary.get("versions"), Mapping):
        found.append(("Versions", ", ".join(f"{name} {number}" for name, number in summary["versions"].items())))
    return found


def _minute(value: Any) -> str:
    """`2026-01-01T12:34:56+00:00` -> `2026-01-01 12:34 UTC`."""
    try:
        return f"{pd.Timestamp(value).tz_convert('UTC'):%Y-%m-%d %H:%M} UTC"
    except (TypeError, ValueError):
        return str(value)
