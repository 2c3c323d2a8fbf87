"""What MLflow shows of a cell and of a study: scores over seeds, the best settings, and the winner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from dml import statistics
from dml.config.parts import is_told
from dml.sweep.cells import Job
from dml.sweep.choosing import finished, ranking, validation
from dml.sweep.plan import Plan
from dml.sweep.results import flat_settings
from dml.sweep.store import FAILED, Outcome
from dml.types import Cell, Part, value_text

PARTS = ("mean", "std", "low", "high")
COLUMNS = 12  # of parameters and of metrics in the table of cells
SHARE = "share_kept"
COUNTED = ("cells", "trials", "finished", "failed", "pruned", "seconds", "training_seconds")  # of summary.json


def axes(cell: Cell) -> dict[str, Any]:
    """A cell's place in its study, as parameters of a run."""
    return {
        "dataset": cell.dataset,
        "noise": cell.noise,
        "rate": cell.rate,
        "loss": cell.loss.name,
        "positives": cell.positives,
        "negatives": cell.negatives,
        "miner": cell.miner.name if cell.miner else None,
        **({"filter": cell.filter.name, "filter_rate": _rate_of(cell.filter)} if cell.filter else {}),
    }


def _rate_of(part: Part) -> Any:
    """Where the rate of wrong labels that a filter assumes is from."""
    if is_told(part):
        return "oracle"
    return "searched" if "rate" in part.search else part.settings.get("rate", "")


class CellRecords:
    """The records that `Tracker.cell` and `Tracker.study` take, of one plan.

    Metrics of a cell are `<score>.mean`, `.std`, `.low` and `.high` (95% interval of the mean) over seeds for each
    score and for the objective, `validation` (the best score of the search), `share_kept` (of the mean objective at
    noise rate 0), `seeds`, `failed` and `training_seconds`.
    """

    def __init__(self, plan: Plan):
        self._plan = plan
        self._twins = _clean_twins([(state.cell, state.split) for state in plan.cells])
        self._waiting: set[int] = set()  # confirmed cells whose clean twin is not
        self._given: set[int] = set()

    def ended(self, job: Job) -> list[tuple[str, dict[str, Any]]]:
        """(cell, record) of each cell that is complete now that a trial ended: its clean twin is confirmed too."""
        if not self._is_confirmed(job.index):
            return []
        self._waiting.add(job.index)
        ready = [i for i in sorted(self._waiting) if (twin := self._twins[i]) is None or self._is_confirmed(twin)]
        return [self._give(index) for index in ready]

    def remaining(self) -> list[tuple[str, dict[str, Any]]]:
        """(cell, record) of each other cell with a trial that ended."""
        states = enumerate(self._plan.cells)
        return [self._give(i) for i, state in states if i not in self._given and (state.tuned or state.confirmed)]

    def cell(self, index: int) -> dict[str, Any]:
        """A cell's record."""
        state = self._plan.cells[index]
        pairs = [state.tuned[n] for n in sorted(state.tuned)] + [state.confirmed[n] for n in sorted(state.confirmed)]
        job = _settled(self._plan, index)
        ended = state.done or self._is_confirmed(index)
        return {
            "status": "KILLED" if not ended else "FINISHED" if finished(self._plan, index) else "FAILED",
            "params": {**axes(state.cell), **(flat_settings(job) if job else state.cell.varied)},
            "metrics": self._metrics(index, [outcome for _, outcome in pairs]),
            "tags": {},
            "start": min((begun(outcome) for _, outcome in pairs), default=0.0),
            "end": max((begun(outcome) + outcome.seconds for _, outcome in pairs), default=0.0),
        }

    def study(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        """The study's record: scores and settings of its winner, and what ran.

        Parameters
        ----------
        summary : the content of `summary.json`.
        """
        plan, order = self._plan, ranking(self._plan)
        metrics = {name: float(summary[name]) for name in COUNTED}
        tags = {"mlflow.note.content": _note(plan, summary)}
        if order:
            winner = self.cell(order[0])
            metrics = {**winner["metrics"], **metrics}
            tags["dml.winner"] = plan.cells[order[0]].name
            tags |= {f"winner.{key}": str(value) for key, value in winner["params"].items() if value is not None}
        return {"metrics": metrics, "tags": tags, "columns": columns(plan)}

    def _is_confirmed(self, index: int) -> bool:
        return len(self._plan.cells[index].confirmed) == len(self._plan.study.seeds)

    def _give(self, index: int) -> tuple[str, dict[str, Any]]:
        self._waiting.discard(index)
        self._given.add(index)
        return self._plan.cells[index].name, self.cell(index)

    def _metrics(self, index: int, outcomes: Sequence[Outcome]) -> dict[str, float]:
        found = finished(self._plan, index)
        metrics: dict[str, float] = {
            "seeds": float(len(found)),
            "failed": float(sum(outcome.status == FAILED for outcome in outcomes)),
            "training_seconds": sum(outcome.seconds for outcome in outcomes),
        }
        best = validation(self._plan, index)
        if best is not None:
            metrics["validation"] = best
        if not found:
            return metrics
        names = [name for name in found[0][1].scores if all(name in outcome.scores for _, outcome in found)]
        values = {name: [outcome.scores[name] for _, outcome in found] for name in names}
        values["objective"] = _objectives(self._plan, index)
        for name, own in values.items():
            metrics |= {f"{name}.{part}": value for part, value in _spread(own).items()}
        twin = self._twins[index]
        if twin is not None:
            share = _share(values["objective"], _objectives(self._plan, twin))
            metrics |= {} if share is None else {SHARE: share}
        return metrics


def _clean_twins(cells: Sequence[tuple[Cell, int]]) -> list[int | None]:
    """For each (cell, class split) with noise the one at rate 0, with the same noise model if the study has it."""
    clean: dict[tuple[str, int], dict[str, int]] = {}
    for index, (cell, split) in enumerate(cells):
        if cell.rate == 0:
            clean.setdefault((_method(cell), split), {})[cell.noise] = index
    twins: list[int | None] = []
    for cell, split in cells:
        found = clean.get((_method(cell), split), {}) if cell.rate else {}
        twins.append(found.get(cell.noise, next(iter(found.values()), None)))
    return twins


def columns(plan: Plan) -> dict[str, list[str]]:
    """The parameters in which the study's cells differ, and the metrics that compare them."""
    settings = [{**axes(state.cell), **state.cell.varied} for state in plan.cells]
    keys = dict.fromkeys(key for own in settings for key in own)
    varying = [key for key in keys if len({value_text(own.get(key)) for own in settings}) > 1]
    study = plan.study
    levels = dict.fromkeys(level for dataset in study.datasets for level in dataset.evaluate_on)
    scores = [f"{study.evaluation.sets[0]}/{level}/{m}.mean" for level in levels for m in study.evaluation.metrics]
    shares = [SHARE] if any(state.cell.rate for state in plan.cells) else []
    searched = ["validation"] if study.search.tunes else []
    metrics = ["objective.mean", *shares, "objective.low", "objective.high", *searched, *scores]
    return {"params": (varying or ["loss", "rate"])[:COLUMNS], "metrics": metrics[:COLUMNS]}


def begun(outcome: Outcome) -> float:
    """When a trial began, in seconds since the epoch; 0 if that is not known."""
    return datetime.fromisoformat(outcome.started).timestamp() if outcome.started else 0.0


def _objectives(plan: Plan, index: int) -> list[float]:
    return [outcome.scores[plan.objective(job)] for job, outcome in finished(plan, index)]


def _share(noisy: Sequence[float], clean: Sequence[float]) -> float | None:
    """Mean over mean; None without a clean score above 0."""
    if not clean or sum(clean) <= 0:
        return None
    return (sum(noisy) / len(noisy)) / (sum(clean) / len(clean))


def _spread(values: Sequence[float]) -> dict[str, float]:
    """Mean, standard deviation and interval, as far as the number of values defines them."""
    if not all(map(math.isfinite, values)):
        return {}
    inside = min(values) >= 0 and max(values) <= 1  # AMI can be negative
    found = statistics.summary(values, bounds=(0.0, 1.0) if inside else None)
    return {part: value for part in PARTS if math.isfinite(value := getattr(found, part))}


def _settled(plan: Plan, index: int) -> Job | None:
    """A trial with the cell's best settings; None if its search failed."""
    state = plan.cells[index]
    confirmed = next((state.confirmed[n][0] for n in sorted(state.confirmed)), None)
    best = plan.best(index)
    return confirmed or (best[0] if best else None)


def _method(cell: Cell) -> str:
    """What two cells that differ only in noise share."""
    return repr(replace(cell, noise="", rate=0.0))


def _note(plan: Plan, summary: Mapping[str, Any]) -> str:
    """The description of the study's run, in Markdown: the best cell of each dataset and noise."""
    cells = [state.cell for state in plan.cells]
    best: dict[tuple[str, str, float], int] = {}
    for index in ranking(plan):
        cell = cells[index]
        best.setdefault((cell.dataset, cell.noise, cell.rate), index)
    lines = [
        f"**{plan.study.title}**: {summary['cells']} cells, {summary['trials']} trials, {summary['failed']} failed",
        "",
    ]
    if plan.study.search.tunes:
        lines += ["| dataset, noise | best cell, by validation score | mean objective |", "|---|---|---|"]
        for (dataset, noise, rate), index in sorted(best.items()):
            own = _spread(_objectives(plan, index))
            margin = f" ({own['low']:.3f} to {own['high']:.3f})" if "low" in own else ""
            text = cells[index].name.partition("|")[2].partition("|")[2].replace("|", ", ")
            lines.append(f"| {dataset}, {noise} {rate:g} | {text} | {own.get('mean', math.nan):.3f}{margin} |")
    return "\n".join(lines)
