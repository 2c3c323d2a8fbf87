"""What was run: the study's main settings, versions, the command that repeats it, and every trial as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from dml.counting import counted
from dml.report.labels import Texts, value_label
from dml.report.numbers import duration
from dml.report.page.blocks import Block, Command, Download, Facts
from dml.report.results import Results

say = Texts(__file__)

USES = {
    "train": "to train on",
    "validation": "to validate",
    "seen": "held out of the classes that train",
    "test": "to test",
    "query": "as queries",
    "gallery": "in the gallery",
}
"""What the images of a role are for, in the order of a row."""


class Provenance:
    """Settings, versions and raw data."""

    anchor, title = "provenance", "What was run"

    def applies(self, results: Results) -> bool:
        """Always."""
        return True

    def content(self, results: Results) -> Iterator[Block | None]:
        yield Facts((*_of_study(results), *_of_summary(results)))
        yield Command(say("repeat"), f"dml run {results.study.name}")
        if not results.trials.empty:
            frame = results.trials.drop(columns=["host"], errors="ignore")
            text = ": settings, scores, curves, diagnostics and errors."
            yield Download("trials", frame, "Every trial as CSV", text)


def _of_study(results: Results) -> list[tuple[str, str]]:
    study, training, batch = results.study, results.study.training, results.study.training.batch
    evaluated = [f"{d.label}: {' and '.join(d.evaluate_on)} labels" for d in study.datasets]
    networks = ", ".join(dict.fromkeys(d.passes_on or training.backbone for d in study.datasets))
    nouns = " or ".join(dict.fromkeys("images" if d.passes_on is None else "vectors" for d in study.datasets))
    size = f"{batch.classes} classes \N{MULTIPLICATION SIGN} {batch.per_class} {nouns}, {training.steps:,} steps"
    start = training.init_from
    begins = []
    if start is not None:
        cell = ", ".join(f"{key} {value}" for key, value in start.cell.items())
        model = f"study {start.study}, {cell or 'its best cell on validation classes'}"
        begins = [("Starts from", model if start.path is None else start.path)]
    return [
        ("Trained on", ", ".join(f"{d.label}: {d.train_on} labels" for d in study.datasets)),
        ("Evaluated on", ", ".join(evaluated)),
        ("Network", f"{networks}, {training.embedding_size} dimensions"),
        *([("Views", say("mirror"))] if study.evaluation.views == "mirror" else []),
        *_of_data(results),
        *begins,
        ("Batches", size),
        ("Optimiser", f"{training.optimizer}, learning rate {training.learning_rate:g}"),
        ("Seeds", ", ".join(map(str, study.seeds))),
        *([("Stops", say("stopped"))] if study.search.stop == "best" else []),
        *([("Protocol", say("fitted_half"))] if study.search.protocol == "train_val_test" else []),
        *((f"Varied: {axis}", ", ".join(map(value_label, values))) for axis, values in study.grid.items()),
    ]


def _of_data(results: Results) -> Iterator[tuple[str, str]]:
    """How many images and classes were used, where `summary.json` recorded it."""
    recorded = results.summary.get("data")
    for dataset in results.study.datasets:
        counts = recorded.get(dataset.label) if isinstance(recorded, Mapping) else None
        if counts is None:
            continue
        noun = "image" if dataset.passes_on is None else "vector"
        parts = [
            f"{counted(role_counts['images'], noun)} of {counted(role_counts['classes'], 'class')} {use}"
            for role, use in USES.items()
            if (role_counts := counts["roles"].get(role))
        ]
        skipped = f"; {counts['skipped']:,} skipped, which could not be decoded" if counts["skipped"] else ""
        notes = "".join(f"; {note}" for note in counts.get("notes", ()))
        title = "Data" if len(results.study.datasets) == 1 else f"Data: {dataset.label}"
        yield title, ", ".join(parts) + skipped + notes


def _of_summary(results: Results) -> list[tuple[str, str]]:
    """When the trials ran, and what `summary.json` recorded."""
    summary, facts = results.summary, []
    started = sorted(_minute(value) for value in results.trials["started"].dropna() if value)
    if started:
        facts.append(("Trials started", " to ".join(dict.fromkeys((started[0], started[-1])))))
    if isinstance(summary.get("seconds"), int | float):
        reused = summary.get("already_done", 0)
        note = f", {counted(reused, 'trial')} reused from earlier sweeps" if reused else ""
        facts.append(("Last sweep", duration(summary["seconds"]) + note))
    if summary.get("git_commit"):
        facts.append(("Git commit", str(summary["git_commit"])))
    if isinstance(summary.get("versions"), Mapping):
        facts.append(("Versions", ", ".join(f"{name} {number}" for name, number in summary["versions"].items())))
    return facts


def _minute(value: Any) -> str:
    """`2026-01-01T12:34:56+00:00` -> `2026-01-01 12:34 UTC`."""
    try:
        return f"{pd.Timestamp(value).tz_convert('UTC'):%Y-%m-%d %H:%M} UTC"
    except (TypeError, ValueError):
        return str(value)
