"""Published numbers and verdicts on papers' claims, computed again from the snapshots, without `dml`.

    python benchmarks/second_looks/published.py   effects, p before and after Holm's correction, verdicts

Only numpy, pandas and scipy, by the rules that docs/claims.md and docs/studies.md state. Each list has all of a paper's
tests that decide, since Holm's correction is over them. `tests/report/test_recomputed.py` compares with the published.
"""

import json
import re
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

ROOT = Path(__file__).resolve().parents[2]
R1 = "test/fine/recall@1"
EASY, RANDOM, SEEN = "positives == 'easy'", "positives == 'random'", "seen/fine/recall@1"
HISTOGRAM, AUC = "loss == 'histogram'", "test/fine/pair_auc"
MULTI = "multi_similarity"
BINS = [(f"varied.str.contains('{bins}')", "varied.str.contains(' 201')") for bins in (" 401", "1001")]
LONG, SOFTMAX = "varied.str.contains('1500')", "varied.str.contains('softmax')"
STARTED = [(f"{HISTOGRAM} and {SOFTMAX}", f"{HISTOGRAM} and ~{SOFTMAX}")]
FAMILIES = {  # all tests of a paper: study, claim, two sets of cells a part, score, side, bound, what slopes are over
    "eps": [
        ("eps-fig2-seeds", "eps-figure-2", [(EASY, RANDOM)], "seen/fine/nmi", "above", 0, ""),
        (
            "eps-ms-batch-numbers",
            "eps-ms-batch",
            [(f"positives == '{MULTI}'", f"positives != '{MULTI}'")],
            R1,
            "above",
            0,
            "training.batch.classes",
        ),
        ("eps-noise-plane", "eps-noise-collapse", [(RANDOM, "")], SEEN, "below", 0, "rate"),
        ("eps-noise-plane", "eps-noise-collapse", [(EASY, RANDOM)], SEEN, "above", 0, "rate"),
        ("eps-table1", "eps-clean-redundant", [(EASY, RANDOM)], SEEN, "within", 1, ""),
        ("eps-table1", "eps-clean-redundant", [(EASY, RANDOM)], "seen/fine/nmi", "within", 1, ""),
        ("eps-table1", "eps-figure-2", [(EASY, RANDOM)], "seen/fine/nmi", "above", 0, ""),
        ("eps-table1", "eps-figure-2-parity", [(EASY, RANDOM)], "seen/coarse/recall@1", "above", 0, ""),
        ("eps-table1", "eps-figure-2-parity", [(EASY, RANDOM)], "test/coarse/recall@1", "above", 0, ""),
        ("eps-table1", "eps-table-1-train", [(EASY, RANDOM)], SEEN, "above", 0, ""),
        ("eps-table1", "eps-table-1-test", [(EASY, RANDOM)], R1, "above", 0, ""),
    ],
    "histogram": [
        ("histogram-bins-numbers", "histogram-bins-200", BINS, R1, "below", 1, ""),
        (
            "histogram-pairs",
            "histogram-overlap",
            [(f"{HISTOGRAM} and {LONG}", f"{HISTOGRAM} and ~{LONG}")],
            AUC,
            "above",
            0,
            "",
        ),
        ("histogram-pairs-tuned", "histogram-overlap", [(HISTOGRAM, "loss.str.contains('bin')")], AUC, "above", 0, ""),
        ("histogram-pretraining-numbers", "histogram-pretraining", STARTED, R1, "within", 2, ""),
        *(
            (
                f"histogram-{study}-numbers",
                f"histogram-{claim}",
                [(HISTOGRAM, f"loss == '{loss}'")],
                score,
                "above",
                0,
                "",
            )
            for study, claim, score, losses in (
                ("pairs", "overlap", AUC, ("binomial_deviance", "lifted_structure")),
                ("tuning", "tuning", R1, ("binomial_deviance", "lifted_structure", "triplet", "contrastive")),
            )
            for loss in losses
        ),
    ],
}


@cache
def snapshot_arrays(study):
    path = ROOT / "docs/results" / study / "figures.npz"
    return dict(np.load(path)) if path.is_file() else {}


@cache
def snapshot(study):
    folder = ROOT / "docs/results" / study
    trials = pd.read_parquet(folder / "trials.parquet")
    return trials[trials["status"] == "finished"], json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def search_variance(tuned, score, chooses):
    """Of the best of as many tuning trials drawn again, over all draws, in squared points."""
    values, validation = tuned["objective"].to_numpy(), "validation/" + score.partition("/")[2]
    if not chooses and validation in tuned and tuned[validation].notna().all():
        scores = tuned[validation].to_numpy()
    else:
        scores = values
    draws = np.array(list(product(range(len(values)), repeat=len(values))))
    return 1e4 * scores[draws[np.arange(len(draws)), values[draws].argmax(axis=1)]].var()


def by_class(study, trials, score):
    """Means (trials, K) and queries (K,) of the test classes; None if the snapshot lacks the score by class."""
    arrays = snapshot_arrays(study)
    for place in (score, score.partition("/")[0]):  # those of the objective are under its set
        keys = [f"classes/{key}/{place}/" for key in trials["key"]]
        if all(key + "mean" in arrays for key in keys):
            means, counts = (np.array([arrays[key + x].astype(float) for key in keys]) for x in ("mean", "queries"))
            shares = counts.mean(0) / counts.mean(0).sum()
            of_score = abs(means.mean(0) @ shares - trials[score].mean()) <= 1e-3
            return (means, counts.mean(0)) if of_score else None
    return None


def spread(values, counts):
    """The variance of a mean over queries, by a bootstrap of whole classes, and its freedom."""
    shares, freedom = counts / counts.sum(), len(counts) - 1
    return float(((shares * (values - values @ shares)) ** 2).sum()) * len(shares) / freedom, freedom


def class_variance(study, trials, score, weights):
    """`spread` of a weighted sum of cells; None if the snapshot lacks the score by class."""
    total = 0.0
    for cell, weight in weights.items():
        found = by_class(study, trials[trials["cell"] == cell], score)
        if found is None:
            return None
        total = total + 100 * weight * found[0].mean(0)
    return spread(total, found[1])


class Mean:
    """A mean of independent errors (Satterthwaite), of which seeds and classes bound the interval by themselves."""

    def __init__(self, values, folds=False, classes=None, searches=()):
        self.mean, n = float(np.mean(values)), len(values)
        bounds = [(np.var(values, ddof=1) * (1 / n + folds / (n - 1)), n - 1), *([classes] if classes else [])]
        terms = [term for term in (*bounds, *searches) if term[0] > 0]
        variance = sum(term[0] for term in terms)
        total = variance, variance**2 / sum(part**2 / freedom for part, freedom in terms) if terms else 1
        self.errors = [(part**0.5, freedom) for part, freedom in (total, *bounds) if part > 0]
        self.half = max((error * stats.t.ppf(0.975, freedom) for error, freedom in self.errors), default=0.0)

    def __str__(self):
        low, high = self.mean - self.half, self.mean + self.half
        return re.sub(r"[+-](0\.0\b)", r"\1", f"{self.mean:+.1f} [{low:+.1f}, {high:+.1f}]")

    def above(self, bound, sign=1):
        """The one-sided p of the mean, or its negative, being at most a bound."""
        over = sign * self.mean - bound
        tail = max(stats.t.sf(abs(over) / error, freedom) for error, freedom in self.errors)
        return tail if over > 0 else 1 - tail


def effect(study, first, second, score, slope="", where=""):
    """The first set of cells minus the second, or its slope."""
    trials = snapshot(study)[0].query(where) if where else snapshot(study)[0]
    confirmed, weights = trials[trials["phase"] == "confirm"], {}
    for cells, sign in ((first, 1), (second, -1)):
        chosen = confirmed.query(cells).drop_duplicates("cell") if cells else confirmed[:0]
        position = np.ones(len(chosen)) / max(len(chosen), 1)
        if slope:
            at = chosen["rate"] if slope == "rate" else np.log2([json.loads(one)[slope] for one in chosen["varied"]])
            away = np.asarray(at) - np.mean(at)
            position = away / max((away**2).sum(), 1e-9)
        weights |= dict(zip(chosen["cell"], sign * position, strict=True))
    confirmed = confirmed[confirmed["cell"].isin(weights)]
    folds = confirmed.get("split", pd.Series([0])).nunique() > 1
    table = confirmed.pivot_table(score, "split" if folds else "seed", "cell")
    values, searches, classes = 100 * table[list(weights)].to_numpy() @ list(weights.values()), [], None
    if not (slope or folds):
        classes = class_variance(study, confirmed, score, weights)
        for cell, weight in weights.items():
            tuned = trials[(trials["phase"] == "tune") & (trials["cell"] == cell)]
            if len(tuned) > 1:
                variance = search_variance(tuned, score, classes is not None)
                searches.append((weight**2 * variance, len(tuned) - 1))
    return Mean(values, folds, classes, searches)


def holm(p):
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1)[np.argsort(order)]


def verdicts(paper):
    """Of each test: study, claim, effects, the p that the claim holds and that it fails, the smaller p (Holm), word."""
    computed, both = [], []
    for study, claim, parts, score, side, bound, slope in FAMILIES[paper]:
        effects = [effect(study, *sets, score, slope) for sets in parts]
        sign = -1 if side == "below" else 1
        pairs = [(2 * e.above(sign * bound, sign), 2 * e.above(-sign * bound, -sign)) for e in effects]
        if side == "within":
            apart = [(e.above(bound), e.above(bound, -1)) for e in effects]
            pairs = [
                (max(e.above(-bound), e.above(-bound, -1)), 2 * min(p)) for e, p in zip(effects, apart, strict=True)
            ]
        pairs = [(min(1, holds), min(1, fails)) for holds, fails in pairs]
        both.append((max(p[0] for p in pairs), min(1, len(pairs) * min(p[1] for p in pairs))))
        computed.append((study, claim, tuple(map(str, effects)), "; ".join(f"{a:.3g}, {b:.3g}" for a, b in pairs)))
    corrected = [holm([p[question] for p in both]) for question in (0, 1)]
    confirmed, refuted = (p < 0.05 for p in corrected)
    words = np.where(confirmed, "confirmed", np.where(refuted, "refuted", "undecided"))
    return [
        (*one, min(adjusted), str(word))
        for one, adjusted, word in zip(computed, zip(*corrected, strict=True), words, strict=True)
    ]


if __name__ == "__main__":
    for each in FAMILIES:
        for study, claim, effects, p, adjusted, word in verdicts(each):
            print(f"{study}, {claim}: {'; '.join(effects)}, p {p}, Holm {adjusted:.3f}: {word}")
