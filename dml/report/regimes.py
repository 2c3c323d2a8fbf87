"""What to do in which case, on one page for two minutes: the first table of the findings, the site and the index.

A file lists the cases and the study that answers each (`pipelines/regimes.yaml`). The numbers are the studies' own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from dml import losses
from dml.config.for_use import caveats
from dml.counting import counted
from dml.report.analysis.flags import LATE, RISING, doubts, ends_late
from dml.report.analysis.untrained import PIXELS, ROUNDED, SAME, VECTORS, Baseline, Gain, gain_of_best
from dml.report.labels import Texts, is_topline, joined, readable
from dml.report.methods import Method, after_comma, mark
from dml.report.numbers import NOTHING, points
from dml.report.numbers import rate as written
from dml.report.page.blocks import Column, Table
from dml.report.recommendation import SMALL
from dml.report.results import Results
from dml.statistics import Summary
from dml.types import ScoreKey

say = Texts(__file__)

FILE = "regimes.yaml"
START, END = "<!-- regimes: written by pipelines/overview.py -->", "<!-- end -->"
TITLE = "What to do"
ON_TEST = "best of several on test classes"
BETTER, WORSE, NOT_TOLD, NO_GAIN = "better", "worse", "not told apart", "no step of training helped"
PROJECTIONS = {"whitened": "whiten", "components": "principal components", "LDA": "LDA"}
PROJECTED = {**PROJECTIONS, "whitened": "whitening"}
NAMES = {"given": "of labels as given", "label_file": "of a file's labels", "similarity": "similar classes"}
COLUMNS = (
    Column("case", "Case"),
    Column("wrong", "Wrong labels"),
    Column("do", "Do this"),
    Column("gain", "Gain in R@1"),
    Column("map", "In MAP@R"),
    Column("free", "Free", note="R@1 / MAP@R"),
    Column("trained", "Trained", note="R@1 / MAP@R"),
    Column("minutes", "Minutes", note="Of all trials of what is trained, with its search, on one core"),
    Column("over", "Free is"),
    Column("method", "Trained is"),
    Column("covers", "Intervals cover"),
    Column("study", "Study", "name"),
)


def regimes(studies: Sequence[Results], file: Path | None) -> Table | None:
    """One row per case of the file whose study is among these; None without any."""
    by_study = {results.study.name: results for results in studies}
    cases = yaml.safe_load(file.read_text(encoding="utf-8")) if file and file.is_file() else None
    rows = [_row(by_study[row["study"]], row) for row in cases or () if row.get("study") in by_study]
    if not rows:
        return None
    tuned = [(results, gain) for results in studies if not mark(results.study) for gain, *_ in each_gain(results)]
    trained = [(gain, results.study.training_of(results.cells[gain.best])) for results, gain in tuned]
    of_all = Counter(gain_verdict(gain.gain) for gain, training in trained if training.frozen or training.train_from)
    fallen = sum(row["falls"] for row in rows)
    lead = joined(
        say("lead"),
        say("fallen", fallen=fallen, cases=counted(len(rows), "row")) if fallen else "",
        say("pretrained", rows=of_all.total(), better=of_all[BETTER], worse=of_all[WORSE]) if of_all else "",
    )
    return Table("regimes", TITLE, "", COLUMNS, pd.DataFrame(rows), lead, say("limits"))


def each_gain(results: Results, oracles: bool = True) -> Iterator[tuple[Gain, Gain | None, str]]:
    """Of each condition: the gain over baselines of any length, of the embedding's, and the score's key."""
    for dataset, noise in () if results.experiment else results.conditions:
        sought = results.study.dataset(dataset).evaluate_on[0]  # also where coarser labels choose: `search.level`
        key = str(ScoreKey.parse(results.objective(dataset))._replace(level=sought, metric="recall@1"))
        key = key if key in results.score_keys else results.objective(dataset)
        for at in () if is_topline(noise) else results.rates(dataset, noise):
            one = gain_of_best(results, dataset, noise, at, key, oracles=oracles)
            if one is not None and losses.closed_form_of(results.cells[one.best].loss.name) is None:
                length = results.study.training_of(results.cells[one.best]).embedding_size
                yield one, gain_of_best(results, dataset, noise, at, key, length, oracles), key


def gain_verdict(gain: Summary) -> str:
    """Whether an interval, which one block does not have, is on one side of zero, by more than scores are rounded."""
    if max(abs(gain.low), abs(gain.high)) < ROUNDED:
        return NO_GAIN
    return BETTER if gain.low > 0 else WORSE if gain.high < 0 else NOT_TOLD


def with_regimes(text: str, page: str) -> str:
    """A text with the table of a page in place of its own, if both have one between the marks."""
    before, start, rest = text.partition(START)
    _, matched, table = page.partition(START)
    return "".join([before, start, table.partition(END)[0], END, rest.partition(END)[2]]) if start and matched else text


def _row(results: Results, entry: dict[str, Any]) -> dict[str, Any]:
    try:
        case, noise, rate = entry["case"], entry["noise"], float(entry["rate"])
    except KeyError as error:
        raise ValueError(f"{FILE}: a row has case, study, noise and rate; {entry} lacks {error}") from None
    gains = each_gain(results, oracles=False)
    matching = [each for each in gains if each[0].noise == noise and abs(each[0].rate - rate) < SAME]
    if len(matching) != 1:
        raise ValueError(f"{FILE}: {results.study.name} has no gain of {noise} noise at rate {rate}")
    gain, same, key = matching[0]
    best, cheap, falls = gain.best, _without_training(gain.untrained), entry.get("falls")
    ordering = str(ScoreKey.parse(key)._replace(metric="map@r"))
    ordered = gain_of_best(results, gain.dataset, noise, gain.rate, ordering, oracles=False, method=best)
    do = f"{cheap} ({gain_verdict(gain.gain)})"
    if falls:
        do = f"does not stand: {falls}"
    elif gain_verdict(gain.gain) == BETTER:
        do = "train"
    elif same is not None and gain_verdict(same.gain) == BETTER:
        do = f"{cheap}; for {same.untrained.length} dimensions train"
    elif gain_verdict(gain.gain) == WORSE:
        do = cheap
    elif ordered is not None and gain_verdict(ordered.gain) == BETTER and ordered.gain.mean >= SMALL:
        do += "; for MAP@R train"
    told = caveats(results.study, results.cells[best])
    more = RISING if RISING in doubts(results, best) else LATE if ends_late(results, best) else ""
    others = [more] * bool(more) + [ON_TEST] * gain.on_test + list(told)
    scores = [(one.untrained.score, one.untrained.score + one.gain.mean) for one in (gain, ordered) if one is not None]
    free, trained = (" / ".join(f"{score:.1f}" for score in side) for side in zip(*scores, strict=True))
    minutes = results.trials.loc[results.trials["cell"] == best, "seconds"].sum() / 60
    return {
        "case": case,
        "wrong": f"{written(rate)} {NAMES.get(noise.partition(':')[0], noise)}" if rate else "none",
        "do": do,
        "free": free,
        "trained": trained,
        "gain": points(gain.gain) + after_comma(", ".join(others)),
        "map": points(ordered.gain) if ordered is not None else NOTHING,
        "minutes": f"{minutes:.0f}" if minutes >= 1 else "under 1",
        "over": _baseline_text(results, gain),
        "method": _trained(results.methods[best]),
        "covers": _sources_text(results, gain, ordered),
        "study": results.study.name,
        "falls": bool(falls),
    }


def _sources_text(results: Results, gain: Gain, ordered: Gain | None) -> str:
    """`5 folds`; of one class split `seeds and searches (MAP@R: seeds, classes and searches)`."""
    if results.study.splits > 1:
        return counted(results.study.splits, "fold" if results.study.folds else "class split")
    of_map = f" (MAP@R: {ordered.sources})" if ordered is not None and ordered.sources != gain.sources else ""
    return f"{gain.sources}{of_map}"


def _baseline_text(results: Results, gain: Gain) -> str:
    """`whitening of both 224-pixel views`, `LDA to 64 dimensions of pixels`: what the gain is over, by all seeds."""
    side = results.study.dataset(gain.dataset).side
    pixels = f"{side}-pixel " if side else ""
    each: dict[str, list[str]] = {}
    for start, projection, mirror in _parts(gain.untrained):
        what = f"{PROJECTED[projection]}{_to(gain.untrained)} of " if projection else ""
        each.setdefault(what, []).append(start if start in (PIXELS, VECTORS) else "both" if mirror else "one")
    return " or ".join(f"{what}{_views_text(views, pixels)}" for what, views in each.items())


def _views_text(views: Sequence[str], pixels: str) -> str:
    """`pixels`, `one 224-pixel view`, `one or both 224-pixel views`."""
    if views[0] in (PIXELS, VECTORS):
        return views[0]
    return f"{' or '.join(sorted({*views}, reverse=True))} {pixels}{'views' if 'both' in views else 'view'}"


def _parts(baseline: Baseline) -> list[tuple[str, str, bool]]:
    """What is projected, how (`whitened`, or nothing), whether the mirror image is seen too: all seeds' choices."""
    start, _, projected = baseline.label.partition(", ")
    each = [(one, one.removesuffix(", both views")) for one in projected.split(" or ")]
    return [(start, projection.rpartition(" ")[2], projection != one) for one, projection in each]


def _trained(method: Method) -> str:
    """`multi similarity (all pairs)`, `triplet (easy positives, semihard random negatives)`."""
    tuples = f"{method.positives} positives, {method.negatives} negatives" if method.positives else method.negatives
    if method.positives == method.negatives and method.positives:
        tuples = f"{method.positives} pairs"
    told = "; ".join(filter(None, (readable(tuples), method.variant)))
    return readable(method.loss) + (f" ({told})" if told else "")


def _without_training(baseline: Baseline) -> str:
    """`whiten`, `LDA to 64 dimensions`, `pixels as they are`."""
    start, projection, _ = _parts(baseline)[0]
    return PROJECTIONS[projection] + _to(baseline) if projection else f"{start} as they are"


def _to(baseline: Baseline) -> str:
    return f" to {baseline.length} dimensions" if baseline.length else ""
