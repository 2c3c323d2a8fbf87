"""What training gains over the best score without training, in each study that is tuned: the first table of the index
and of `docs/results.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from dml import losses
from dml.counting import counted
from dml.report.analysis.flags import doubts
from dml.report.analysis.untrained import Gain, gain_of_best
from dml.report.labels import is_topline, metric_label, metric_of, noise_name
from dml.report.numbers import NOTHING, percent, points, rate
from dml.report.page.tables import Column, Table
from dml.report.results import Results
from dml.report.texts import Texts
from dml.report.tuning import mark
from dml.statistics import Summary
from dml.types import ScoreKey

say = Texts(__file__)

TITLE = "What tuned training gains"
COLUMNS = (
    Column("study", "Study", "name"),
    Column("trained", "Trained"),
    Column("noise", "Wrong labels"),
    Column("use", "Best method"),
    Column("score", "Score"),
    Column("same", "Gain, same length"),
    Column("any", "Gain, any length"),
    Column("sure", "Sure?"),
)


def gains(studies: Sequence[Results]) -> Table | None:
    """One row per tuned study, dataset, noise model and rate; None without any."""
    tuned = [results for results in studies if not mark(results.study)]
    rows = [_row(results, *found) for results in tuned for found in each_gain(results)]
    if not rows:
        return None
    better = sum(row["sure"] == "better" for row in rows)
    lead = say("lead", better=better, rows=counted(len(rows), "row"))
    blocks = " or ".join(sorted({f"{results.study.block}s" for results in tuned}, reverse=True))
    return Table("gains", TITLE, say("how", blocks=blocks), COLUMNS, pd.DataFrame(rows), lead)


def each_gain(results: Results, oracles: bool = True) -> Iterator[tuple[Gain, Gain | None, str]]:
    """Of each condition: the gain over baselines of any length, of the embedding's, and the score's key.

    Parameters
    ----------
    oracles : also of filters that are told the true rate of wrong labels.
    """
    for dataset, noise in () if results.experiment else results.conditions:
        sought = results.study.dataset(dataset).evaluate_on[0]  # also where coarser labels choose: `search.level`
        key = str(ScoreKey.parse(results.objective(dataset))._replace(level=sought, metric="recall@1"))
        key = key if key in results.score_keys else results.objective(dataset)
        for at in () if is_topline(noise) else results.rates(dataset, noise):
            one = gain_of_best(results, dataset, noise, at, key, oracles=oracles)
            if one is not None and losses.closed_form_of(results.cells[one.best].loss.name) is None:
                length = results.study.training_of(results.cells[one.best]).embedding_size
                yield one, gain_of_best(results, dataset, noise, at, key, length, oracles), key


def _row(results: Results, one: Gain, same: Gain | None, key: str) -> dict[str, str]:
    training = results.study.training_of(results.cells[one.best])
    part = "head" if training.frozen else "upper blocks" if training.train_from else "network"
    several = len(results.study.datasets) > 1
    return {
        "study": f"{results.study.name}, {one.dataset}" if several else results.study.name,
        "trained": part,
        "noise": _noise(results, one),
        "use": results.methods[one.best].label,
        "score": f"{metric_label(metric_of(key))} {percent(results.values(one.best, key).mean())}",
        "same": NOTHING if same is None else points(same.gain),
        "any": points(one.gain),
        "sure": ", ".join(filter(None, (said((same or one).gain), doubts(results, one.best)))),
    }


def _noise(results: Results, one: Gain) -> str:
    if results.own_labels:
        return results.level(one.noise, one.rate)
    return f"{rate(one.rate)} {noise_name(one.noise)}" if one.rate else "none"


def said(gain: Summary) -> str:
    """Whether an interval, which one block does not have, is on one side of zero."""
    return "better" if gain.low > 0 else "worse" if gain.high < 0 else "not told apart"
