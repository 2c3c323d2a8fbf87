"""Published numbers, computed again from the snapshots with pandas and scipy alone: nothing of `dml` is imported."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from second_looks.published import (
    EASY,
    FAMILIES,
    MULTI,
    R1,
    RANDOM,
    ROOT,
    SEEN,
    Mean,
    class_variance,
    effect,
    search_variance,
    snapshot,
    verdicts,
)

FINDINGS = ROOT / "docs" / "findings.md"
ROWS = yaml.safe_load((ROOT / "pipelines/regimes.yaml").read_text(encoding="utf-8"))
MAP = "test/fine/map@r"
NAMES = {"given": "of labels as given", "label_file": "of a file's labels", "similarity": "similar classes"}
WITHOUT = ("whitening", "components", "lda")
UNTUNED = [  # study, score, two sets of cells, all of which fulfil the last
    *(("eps-table3-ten", R1, EASY, "positives != 'easy'", f"loss == '{x}'") for x in ("triplet", "margin", MULTI)),
    *(("eps-noise", SEEN, RANDOM, EASY, f"rate > 0 and loss == '{loss}'") for loss in ("triplet", "margin")),
]


def per_unit(trials, unit, score):
    return trials.groupby(unit)[score].mean().to_numpy()


@pytest.mark.parametrize(("score", "column"), [(R1, -10), (MAP, -9)])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['study']}-{row['rate']}")
def test_the_gains_of_the_first_table(row, score, column):
    """The way that validation classes prefer, minus the best score without training on test classes."""
    trials, summary = snapshot(row["study"])
    trials = trials[(trials["noise"] == row["noise"]) & np.isclose(trials["rate"], row["rate"])]
    unit = "split" if trials.get("split", pd.Series([0])).nunique() > 1 else "seed"
    free = trials["loss"].isin(WITHOUT)
    tuned = trials[(trials["phase"] == "tune") & ~free].groupby(["cell", *["split"] * (unit == "split")])
    ways = trials[(trials["phase"] == "confirm") & ~free].groupby("cell")[R1].mean()
    best = ways.idxmax()  # of ways that were not tuned
    if len(tuned):
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
    noise = row["noise"].partition(":")[0]
    wrong = f"{100 * row['rate']:g}% {NAMES.get(noise, noise)}" if row["rate"] else "none"
    (line,) = re.findall(rf"\| {re.escape(row['case'])} \| {wrong}[^\n]*\| `{row['study']}` \|", table)
    shown = line.split("|")[column].strip()
    sides = [cell.split(" / ")[score == MAP].strip() for cell in line.split("|")[-8:-6]]
    assert sides == [f"{100 * np.mean(values):.1f}" for values in (free_best, trained)]
    if score == MAP:
        (mean, low), do = (float(text) for text in re.findall(r"[-+]?[0-9.]+", shown)[:2]), line.split("|")[3]
        assert ("for MAP@R train" in do) == ("not told apart" in do and mean >= 0.5 and low > 0)
    if score == R1:
        assert ("best of several on test classes" in shown) == (not len(tuned) and len(ways) > 1)
    if score == R1 and row["study"].startswith("regime"):  # their rates fall by a cosine
        searched = trials[(trials["phase"] == "tune") & (trials["cell"] == best)].sort_values("objective")
        chosen = searched.groupby(unit if unit == "split" else "cell").tail(1)["curve"].map(json.loads)
        late = [max(curve, key=lambda at: next(iter(at[1].values())))[0] > 0.8 * curve[-1][0] for curve in chosen]
        assert ("best at the end" in shown) == (0 < len(late) <= 2 * sum(late))
    if unit == "split":
        expected = Mean(100 * (trained - np.asarray(free_best)), folds=True)
        assert shown.startswith(str(expected) if len(free_best) == len(trained) else f"{expected.mean:+.1f} [")
        return
    rows = trials[(trials["phase"] == "tune") & (trials["cell"] == best)]
    classes, (of_both, _, of_map) = None, line.split("|")[-3].partition("(MAP@R: ")
    if "classes and searches" in (of_map or of_both if score == MAP else of_both):
        whitened = trials.loc[trials["loss"] == "whitening", "cell"].iloc[0]
        classes = class_variance(row["study"], trials[trials["phase"] == "confirm"], score, {best: 1, whitened: -1})
    searches = [(search_variance(rows, score, score == MAP), len(rows) - 1)]
    assert shown.startswith(str(Mean(100 * (trained - np.mean(free_best)), False, classes, searches)))


@pytest.mark.parametrize(("study", "score", "first", "second", "where"), UNTUNED)
def test_effects_that_are_told(study, score, first, second, where):
    expected = str(effect(study, first, second, score, where=where)).replace("+", "")
    assert expected in " ".join(FINDINGS.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("paper", FAMILIES)
def test_the_verdicts_on_a_paper(paper):
    """Effects, intervals, p and Holm's correction of all tests that decide, by the rules of docs/claims.md."""
    with (ROOT / "tests/golden/verdicts.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["claim"].startswith(f"{paper}-")]
    published = set()
    for row in rows:
        found = row["found"].replace("\N{MINUS SIGN}", "-")
        if row["verdict"] != "not tested" and "as a stand-in" not in found:
            word = re.search(r"\((\w+) here, but not elsewhere", found)  # before another look disputed it
            numbers = tuple(re.findall(r"[+-]?[\d.]+ \[[^]]*\]", found.partition(" points")[0]))
            published.add((row["study"], row["claim"], numbers, row["p"], word[1] if word else row["verdict"]))
    assert {(*one, word) for *one, _, word in verdicts(paper)} == published
