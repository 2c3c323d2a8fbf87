"""What training gains over the best score without training, in each study that is tuned: the first table of the index
and of the site's page of results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from dml import losses
from dml.counting import counted
from dml.report.analysis.flags import doubts, marks
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
NONE = "none"  # no wrong labels
BETTER, WORSE = "better", "worse"
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
    found = [(results, *gain) for results, gain in tuned_gains(studies)]
    rows = [_row(*one) for one in found]
    if not rows:
        return None
    clean, noisy = ([row for row in rows if (row["noise"] == NONE) == right] for right in (True, False))
    lead = say(
        "lead",
        better=sum(row["better"] for row in clean),
        rows=counted(len(clean), "row"),
        noisy_better=sum(row["better"] for row in noisy),
        noisy_rows=counted(len(noisy), "row"),
    )
    blocks = " or ".join(sorted({f"{results.study.block}s" for results, *_ in found}, reverse=True))
    return Table("gains", TITLE, say("how", blocks=blocks), COLUMNS, pd.DataFrame(rows), lead)


def tuned_gains(studies: Sequence[Results]) -> Iterator[tuple[Results, tuple[Gain, Gain | None, str]]]:
    """Each condition of each tuned study, with what `each_gain` says of it."""
    for results in studies:
        if not mark(results.study):
            yield from ((results, gain) for gain in each_gain(results))


def of_pretrained(studies: Sequence[Results]) -> Counter[str]:
    """How many gains of a tuned head or tuned upper blocks, over any length, are what `said` calls them."""
    return Counter(said(one.gain) for results, (one, *_) in tuned_gains(studies) if _trained(results, one) != "network")


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


def _row(results: Results, one: Gain, same: Gain | None, key: str) -> dict[str, Any]:
    several = len(results.study.datasets) > 1
    return {
        "study": f"{results.study.name}, {one.dataset}" if several else results.study.name,
        "trained": _trained(results, one),
        "noise": f"{rate(one.rate)} {noise_name(one.noise)}" if one.rate else NONE,
        "use": results.methods[one.best].label,
        "score": f"{metric_label(metric_of(key))} {percent(results.values(one.best, key).mean())}",
        "same": NOTHING if same is None else points(same.gain),
        "any": points(one.gain),
        "sure": ", ".join(filter(None, (said((same or one).gain), marks(results, one.best)))),
        "better": said((same or one).gain) == BETTER and not doubts(results, one.best),
    }


def _trained(results: Results, one: Gain) -> str:
    training = results.study.training_of(results.cells[one.best])
    return "head" if training.frozen else "upper blocks" if training.train_from else "network"


def said(gain: Summary) -> str:
    """Whether an interval, which one block does not have, is on one side of zero."""
    return BETTER if gain.low > 0 else WORSE if gain.high < 0 else "not told apart"
