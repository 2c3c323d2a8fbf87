"""What was run: the figures at the head of a study's page, and its provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.report.results import Results
from dml.report.table import NOTHING, duration

LABELS = {
    "commit": "Git commit",
    "git_commit": "Git commit",
    "versions": "Versions",
    "started": "Started",
    "finished": "Finished",
    "device": "Device",
    "numerics": "Numerics version",
}


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
        ("Batches", f"{batch.classes} classes x {batch.per_class} images, {training.steps:,} steps"),
        ("Optimiser", f"{training.optimizer}, learning rate {training.learning_rate:g}"),
        ("Seeds", ", ".join(map(str, study.seeds))),
    ]
    for key, label in LABELS.items():
        if results.summary.get(key):
            found.append((label, _text(results.summary[key])))
    started = results.trials["started"].dropna().astype(str)
    if len(started) and not results.summary.get("started"):
        found.append(("Started", f"{started.min()}; last trial {started.max()}"))
    return found


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(item)}" for key, item in sorted(value.items()))
    return str(value)
