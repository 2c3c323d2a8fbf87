"""The recommendation: what to train with on labels as given, or at another noise rate, by a study's results.

The winner is chosen and compared as in the report's table of winners, so at a measured rate both name the same one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic_core import to_jsonable_python

from dml.config.data import makes_noise
from dml.config.for_use import dataset_for_use, explained, levels_for_use
from dml.config.study import PIXELS, is_pretrained, takes
from dml.counting import counted
from dml.losses import closed_form_of
from dml.report.analysis import selection
from dml.report.analysis.flags import RISING, doubts, ends_late
from dml.report.analysis.intervals import score_sources, summary_at
from dml.report.analysis.paired import compared
from dml.report.analysis.selection import Labels, best_of, validations
from dml.report.analysis.untrained import gain_of_cell, untrained
from dml.report.labels import Texts, metric_label, metric_of, readable, score_label
from dml.report.methods import EXPLAINED, after_comma, mark
from dml.report.numbers import points
from dml.report.numbers import rate as rate_text
from dml.report.results import Results, parsed
from dml.statistics import Summary
from dml.types import ScoreKey

say = Texts(__file__)

LEVEL = 0.05
FREE = " --free"
SMALL = 0.5  # points, a convention: one search in 200
STOP_AT = "training.stop_at"  # of a trial's settings: the step at which its search found it best
ALWAYS = ("backbone", "embedding_size", "steps", "batch", "optimizer", "learning_rate")
BEST, AS_GOOD, WORSE, UNKNOWN, BETTER = "best", "as good", "worse", "unknown", "better"


@dataclass(frozen=True)
class Rival:
    """A method at the rate. Scores in percent, differences in points; intervals of 95% and p are None for one seed."""

    method: str
    cell: str  # whose settings it has
    verdict: str  # best (chosen), as good (p of at least 0.05 against the best), worse, better, or unknown (one seed)
    mean: float
    low: float | None
    high: float | None
    seeds: int  # or class splits
    behind: float | None  # the winner's lead over it, paired over seeds or class splits; None if they share none
    behind_low: float | None
    behind_high: float | None
    p: float | None  # adjusted for the number of methods, and for the choice of the winner if test classes chose it


@dataclass(frozen=True)
class Recommendation:
    """The best method of a study at a noise rate, with its settings, and how the others compare."""

    study: str
    dataset: str
    noise: str
    rate: float | None  # the share of wrong labels; None: that of labels as given, which nobody knows
    labels: str  # `with labels as given`, `at 10% wrong labels`
    level: float  # the rate of the study's noise level
    score: str  # its key
    methods: tuple[Rival, ...]  # the winner first, then by their mean
    settings: Mapping[str, Any]  # of the winner, by dotted names
    notes: tuple[str, ...]  # what a reader must know
    tuning: str = ""  # the mark of the study's comparisons: `not tuned`
    block: str = "seed"  # what comparisons are paired over: `seed`, or `class split`
    covers: str = "seeds"  # what intervals and p cover
    free: bool = False  # training gains nothing that is sure: use what is free

    @property
    def winner(self) -> Rival:
        """The first method."""
        return self.methods[0]

    def content(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def recommend(
    results: Results,
    rate: float | None = None,
    dataset: str | None = None,
    noise: str | None = None,
    score: str | None = None,
    wrong: float | None = None,
) -> Recommendation:
    """The study's recommendation on labels as given, or at a noise rate.

    Parameters
    ----------
    rate : the share of wrong labels, for the nearest measured one; None: labels as given.
    dataset : its name in the study; None: the only one.
    noise : a noise of the study, no topline, or a level (`uniform-0.2`); None: labels as given, or with a rate the only
        noise.
    score : a metric, or the key of a score; None: the study's objective.
    wrong : the share of the labels as given that an audit says is wrong; None: there is no audit.
    """
    if rate is not None and not (math.isfinite(rate) and 0 <= rate < 1):
        near = f"; did you mean {rate / 100:g}?" if 1 <= rate < 100 else ""
        raise ValueError(f"rate: expected a share of wrong labels, at least 0 and below 1, got {rate:g}{near}")
    dataset = selection.dataset_of(results, dataset)
    key = selection.score_of(results, dataset, score)
    labels = selection.labels_of(results, dataset, noise, rate, wrong, key)
    names = results.rivals(dataset, *labels.level)
    methods = _rivals(results, key, names)
    best = methods[0].cell
    verdict = _outcome(results, best, key)
    return Recommendation(
        results.study.name,
        dataset,
        labels.level.noise,
        labels.rate,
        labels.text,
        labels.level.rate,
        key,
        tuple(methods),
        settings_of(results, best),
        (*_notes(results, labels, methods, len(names) - len(methods)), verdict.text),
        mark(results.study),
        results.study.block,
        score_sources(results, key, best),
        verdict.free,
    )


def settings_of(results: Results, cell: str) -> dict[str, Any]:
    """What a cell was trained with, by dotted names: its parts, their settings, and those of the section `training`.

    Of `training`, the settings in `ALWAYS` and those that are not defaults. Of class splits with settings of their own,
    those of the first whose search found it best after some training.
    """
    trained = results.cells[cell]
    section = results.study.training_of(trained)
    if closed_form_of(trained.loss.name) and not (section.frozen or section.init_from or is_pretrained(section)):
        section = replace(section, backbone=PIXELS, backbone_settings={})
    training, defaults = to_jsonable_python(section), to_jsonable_python(type(section)())
    chosen: dict[str, Any] = {"loss": trained.loss.name}
    chosen |= {"miner": trained.miner.name} if trained.miner is not None else {}
    chosen |= {"positives": trained.positives, "negatives": trained.negatives} if trained.positives is not None else {}
    chosen |= {"filter": trained.filter.name} if trained.filter is not None else {}
    flat = {
        f"training.{name}": value
        for name, value in training.items()
        if takes(trained.loss.name, f"training.{name}")
        and (name in ALWAYS or (value != defaults[name] and name != "search"))
    }
    searched = [parsed(text) or {} for text in results.confirmed_of(cell)["settings"]] or [{}]
    trains = next((settings for settings in searched if settings.get(STOP_AT) != 0), searched[0])
    return {**chosen, **flat, **trained.grid_point, **trains}


def _rivals(results: Results, key: str, cells: Sequence[str]) -> list[Rival]:
    rows = compared(results, key, cells)
    winner = {"other": rows[0]["winner"], "difference": 0.0, "low": math.nan, "high": math.nan, "p adjusted": math.nan}
    rivals = []
    for row in [winner, *(row for row in rows if row["other"])]:
        name, behind, p = row["other"], row["difference"], row["p adjusted"]
        score = summary_at(results, name, key, "s")
        verdict = UNKNOWN if math.isnan(p) else AS_GOOD if p >= LEVEL else WORSE if behind > 0 else BETTER
        numbers = score["s low"], score["s high"], behind, row["low"], row["high"], p
        low, high, behind, behind_low, behind_high, p = (
            None if math.isnan(value) else float(value) for value in numbers
        )
        verdict = BEST if row is winner else verdict
        label, mean, seeds = results.methods[name].label, score["s mean"], score["s n"]
        rivals.append(Rival(label, name, verdict, mean, low, high, seeds, behind, behind_low, behind_high, p))
    return rivals


def _notes(results: Results, labels: Labels, methods: list[Rival], lacking: int) -> list[str]:
    """What a reader must know: where the numbers are from, and what they are not."""
    notes = [text for text in (EXPLAINED[mark(results.study)], results.origin) if text]
    measured = labels.level.rate
    if labels.rate is not None and labels.text.startswith("at ") and abs(measured - labels.rate) > 1e-6:
        notes.append(say("nearest", rate=rate_text(labels.rate), nearest=rate_text(measured)))
    if lacking:
        notes.append(say("left_out", lacking=counted(lacking, "method"), methods=lacking + len(methods)))
    if len(methods) > 1:
        notes += [say("one_seed")] * (methods[0].seeds < 2)
        notes.append(selection.explained(results, [rival.cell for rival in methods]))
    notes += explained(results.study, [results.cells[rival.cell] for rival in methods])
    if results.study.splits > 1 and results.study.search.tunes:
        notes.append(say("splits"))
    rising = [rival.method for rival in methods if RISING in doubts(results, rival.cell)]
    if rising:
        who = rising[0] if len(rising) == 1 else f"{len(rising)} of {counted(len(methods), 'method')}"
        notes.append(say("rising", methods=who))
    if methods and methods[0].method not in rising and ends_late(results, methods[0].cell):
        notes.append(say("late", method=methods[0].method))
    return notes


@dataclass(frozen=True)
class Outcome:
    """What a study comes to: in words, and the command that makes the model that they name."""

    text: str
    command: str

    @property
    def free(self) -> bool:
        """Whether the model trains nothing."""
        return self.command.endswith(FREE)


def outcome(study: str, method: str, baseline: str, gains: Mapping[str, Summary], trains: bool = True) -> Outcome:
    """The verdict on a study's best method: by how much it is above what is free, and how sure that is.

    The first gain says whether it is sure. A sure one is worth training if it, or another sure one, reaches `SMALL`.
    """
    refit, free = f"dml refit {study}", f"dml refit {study}{FREE}"
    numbers = ", ".join(f"{metric} {points(gain)}" for metric, gain in gains.items())
    if not trains:
        return Outcome(say("outcome_step_0", method=method), free)
    if not gains:
        return Outcome(say("outcome_no_baseline", method=method), refit)
    metric, gain = next(iter(gains.items()))
    if round(gain.mean, 1) <= 0:  # as it is printed
        return Outcome(say("outcome_below", method=method, baseline=baseline, points=numbers), free)
    if gain.n < 2:
        command = refit if gain.mean >= SMALL else free
        return Outcome(say("outcome_one_seed", method=method, baseline=baseline, points=numbers), command)
    if gain.low > 0 and all(each.mean < SMALL for each in gains.values() if each.low > 0):
        return Outcome(say("outcome_small", method=method, baseline=baseline, points=numbers, small=SMALL), free)
    if gain.low > 0:
        return Outcome(say("outcome_above", method=method, baseline=baseline, metric=metric, points=numbers), refit)
    return Outcome(say("outcome_undecided", method=method, baseline=baseline, metric=metric, points=numbers), free)


def outcome_of(results: Results) -> Outcome | None:
    """The verdict at the lowest rate of the study's first condition; None without results, or of an experiment."""
    if results.confirmed.empty or results.experiment or not results.conditions:
        return None
    dataset, noise = results.conditions[0]
    key = results.objective(dataset)
    names = [n for n in results.rivals(dataset, noise, results.rates(dataset, noise)[0]) if len(results.values(n, key))]
    means = {name: float(results.values(name, key).mean()) for name in names}
    if not means:
        return None
    return _outcome(results, best_of(validations(results, means) or means), key)


def _outcome(results: Results, cell: str, score: str) -> Outcome:
    """`outcome` of a cell beside what is free at its labels, by a score and by R@1."""
    at, gains, label = results.cells[cell], {}, ""
    for key in dict.fromkeys((score, str(ScoreKey.parse(score)._replace(metric="recall@1")))):
        baseline = untrained(results, at.dataset, at.noise, at.rate, key) if key in results.score_keys else None
        if baseline is not None:
            label = label or baseline.label
            gains[metric_label(metric_of(key))] = gain_of_cell(results, cell, baseline, key)[0]
    return outcome(results.study.name, results.methods[cell].label, label, gains, trains(results, cell))


def trains(results: Results, cell: str) -> bool:
    """Whether a cell's network takes a step: it is no closed form, and not all its trials stopped at step 0."""
    if closed_form_of(results.cells[cell].loss.name) is not None:
        return False
    stops = [(parsed(text) or {}).get(STOP_AT) for text in results.confirmed_of(cell)["settings"]]
    return not stops or any(stop != 0 for stop in stops)


def best_free(recommendation: Recommendation, results: Results) -> Rival:
    """The best of the methods that train nothing."""
    free = [rival for rival in recommendation.methods if not trains(results, rival.cell)]
    if not free:
        raise ValueError(say("no_free", study=recommendation.study))
    return max(free, key=lambda rival: rival.mean)


def uncompared(results: Results, dataset: str | None, noise: str | None) -> dict[str, Any]:
    """A study's first method that trains nothing, as a recommendation's content: without trials it has no score."""
    study, cells = results.study, results.cells.values()
    dataset = dataset_for_use((cell.dataset for cell in cells), dataset, study.name)
    level = levels_for_use((cell.noise_level for cell in cells if cell.dataset == dataset), noise, study.name)[0]
    names = results.rivals(dataset, *level)
    free = [name for name in names if closed_form_of(results.cells[name].loss.name) is not None]
    if not free:
        raise ValueError(say("no_free", study=study.name))
    return {
        "study": study.name,
        "dataset": dataset,
        "noise": level.noise,
        "level": level.rate,
        "rate": None,
        "rate_source": "",
        "score": results.objective(dataset),
        "methods": [
            {"method": results.methods[free[0]].label, "cell": free[0], "mean": None, "low": None, "high": None}
        ],
        "settings": settings_of(results, free[0]),
        "notes": [say("uncompared", study=study.name)],
        "free": True,
        "chosen": say("uncompared", study=study.name),
    }


def title(of: Recommendation) -> str:
    """`quickstart at 23% wrong labels (digits, uniform noise, not tuned): MAP@R, test classes, fine labels`."""
    noise = f", {readable(of.noise)} noise" if of.level and makes_noise(of.noise) else ""
    return f"{of.study} {of.labels} ({of.dataset}{noise}{after_comma(of.tuning)}): {score_label(of.score)}"
