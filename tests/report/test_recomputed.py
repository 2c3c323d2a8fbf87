"""Published numbers, computed again from the snapshots with pandas and scipy alone: nothing of `dml` is imported."""

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

ROOT = Path(__file__).parents[2]
FINDINGS = ROOT / "docs" / "findings.md"
ROWS = yaml.safe_load((ROOT / "pipelines/regimes.yaml").read_text(encoding="utf-8"))
R1, MAP = "test/fine/recall@1", "test/fine/map@r"
NAMES = {"given": "of labels as given"}
WITHOUT = ("whitening", "components", "lda")
EFFECTS = [
    ("eps-table1", "seen/fine/recall@1", "positives == 'easy'", "positives != 'easy'", ""),
    ("eps-table3-ten", R1, "positives == 'easy'", "positives != 'easy'", "loss == 'triplet'"),
    ("eps-table3-ten", R1, "positives == 'easy'", "positives != 'easy'", "loss == 'margin'"),
    ("eps-table3-ten", R1, "positives == 'easy'", "positives != 'easy'", "loss == 'multi_similarity'"),
]


@cache
def snapshot(study):
    folder = ROOT / "docs/results" / study
    trials = pd.read_parquet(folder / "trials.parquet")
    return trials[trials["status"] == "finished"], json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def written(differences, folds=False):
    """`+12.3 [+6.1, +18.4]`: the mean of shares in points, with Student's 95% interval."""
    points = 100 * np.asarray(differences, dtype=float)
    variance = points.var(ddof=1) * (1 / len(points) + folds / (len(points) - 1))
    half = stats.t.ppf(0.975, len(points) - 1) * variance**0.5
    return f"{points.mean():+.1f} [{points.mean() - half:+.1f}, {points.mean() + half:+.1f}]"


def per_unit(trials, unit, score):
    return trials.groupby(unit)[score].mean().to_numpy()


@pytest.mark.parametrize(("score", "column"), [(R1, -5), (MAP, -4)])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['study']}-{row['rate']}")
def test_the_gains_of_the_first_table(row, score, column):
    """The way that validation classes prefer, minus the best score without training on test classes."""
    trials, summary = snapshot(row["study"])
    trials = trials[(trials["noise"] == row["noise"]) & np.isclose(trials["rate"], row["rate"])]
    unit = "split" if trials.get("split", pd.Series([0])).nunique() > 1 else "seed"
    free = trials["loss"].isin(WITHOUT)
    tuned = trials[(trials["phase"] == "tune") & ~free].groupby(["cell", *["split"] * (unit == "split")])
    best = tuned["objective"].max().groupby("cell").mean().idxmax()
    trained = per_unit(trials[(trials["phase"] == "confirm") & (trials["cell"] == best)], unit, score)

    forms = [per_unit(one, unit, score) for _, one in trials[free & (trials["phase"] == "confirm")].groupby("loss")]
    chosen = []  # by observed labels, in studies that record it
    noisy = [one for one in summary["untrained_by_noise"] if one["noise"] == row["noise"]]
    for one in noisy:
        if one["name"].endswith("re-ranked"):  # it needs the whole gallery
            continue
        if abs(one["rate"] - row["rate"]) < 1e-9 and score in one["scores"]:
            forms.append([scores[score] for scores in one["by_split"]] if unit == "split" else [one["scores"][score]])
            chosen += [forms[-1]] * one["name"].endswith(", free")
    for scores in (scores for of_data in summary["untrained"].values() for scores in of_data.values()):
        forms.append([scores[score]])
    if row["study"].endswith("-whole"):  # its network's features, while the summary has its pixels
        chosen.append([trials[trials["loss"].isin(WITHOUT)][score].mean()])
    free_best = max(chosen or forms, key=np.mean)

    table = FINDINGS.read_text(encoding="utf-8").replace("\N{MINUS SIGN}", "-")
    wrong = f"{100 * row['rate']:g}% {NAMES.get(row['noise'], row['noise'])}" if row["rate"] else "none"
    (line,) = re.findall(rf"\| {re.escape(row['case'])} \| {wrong}[^\n]*\| `{row['study']}` \|", table)
    shown = line.split("|")[column].strip()
    assert shown.startswith(f"{100 * (trained.mean() - np.mean(free_best)):+.1f} [")
    if unit == "split" and len(free_best) == len(trained):
        assert shown.startswith(written(trained - np.asarray(free_best), folds=True))


@pytest.mark.slow
@pytest.mark.parametrize(("study", "score", "first", "second", "where"), EFFECTS)
def test_effects_of_claims(results_page, study, score, first, second, where):
    """Of a tuned study the mean: its interval covers the search too."""
    trials, _ = snapshot(study)
    tuned, trials = (trials["phase"] == "tune").any(), trials[trials["phase"] == "confirm"]
    trials = trials.query(where) if where else trials
    sides = [trials.query(side).groupby("seed")[score].mean() for side in (first, second)]
    expected = written(sides[0] - sides[1])
    assert (expected.partition("[")[0] if tuned else expected) in results_page.replace("\N{MINUS SIGN}", "-")
