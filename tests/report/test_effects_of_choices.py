"""Effects pooled over all else: against naive loops, with true effects that are known, and on the page."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dml.report.sections.effects_of_choices import EffectsOfChoices, crossed, effects, says_nothing

pytestmark = pytest.mark.slow

LEVELS = {"loss": ["a", "b", "c"], "positives": ["p", "q"], "negatives": ["x", "y", "z"], "rate": [0.0, 0.4]}
POINTS = pd.MultiIndex.from_product(LEVELS.values(), names=[*LEVELS])


def draw(rng, seeds=4):
    """(true means of all cells, scores with noise of cells and of seeds)."""
    own = [dict(zip(levels, rng.normal(0, 2, len(levels)), strict=True)) for levels in LEVELS.values()]
    means = pd.Series([sum(o[v] for o, v in zip(own, p, strict=True)) + rng.normal() for p in POINTS], POINTS)
    noise = rng.normal(0, 1, (len(POINTS), seeds)) + rng.normal(0, 5, seeds)
    return means, pd.DataFrame(means.to_numpy()[:, None] + noise, POINTS)


def test_effects_against_a_loop():
    _, scores = draw(np.random.default_rng(0))
    found = effects(scores)
    assert len(found) == (3 + 2 + 3) * 2
    for row in found.to_dict("records"):
        at = [p for p in POINTS if p[3] == row["rate"]]
        mine = [p for p in at if p[list(LEVELS).index(row["axis"])] == row["level"]]
        expected = np.mean([scores.loc[p] for p in mine]) - np.mean([scores.loc[p] for p in at])
        assert row["effect"] == pytest.approx(expected)


def test_intervals_of_effects_cover_the_truth_and_seeds_that_are_good_for_all_do_not_widen_them():
    rng, hits, widths = np.random.default_rng(1), [], []
    for _ in range(40):
        means, scores = draw(rng)
        for row in effects(scores).to_dict("records"):
            at = means.xs(row["rate"], level="rate")
            truth = at.xs(row["level"], level=row["axis"]).mean() - at.mean()
            hits.append(row["effect low"] <= truth <= row["effect high"])
            widths.append(row["effect high"] - row["effect low"])
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)
    assert np.mean(widths) < 2  # the seeds' own spread of 5 would make it 16


def test_holm_is_over_all_effects():
    _, scores = draw(np.random.default_rng(2))
    found = effects(scores)
    first = found.loc[found["p"].idxmin()]
    assert first["holm"] == pytest.approx(min(1, first["p"] * (3 + 1 + 3) * 2))  # two levels are one question
    two = found[found["axis"] == "positives"].groupby("rate")["holm"].nunique()
    assert two.tolist() == [1, 1]
    assert effects(scores[[0]])[["holm", "effect low"]].isna().all(axis=None)


def test_a_study_with_crossed_axes_shows_effects(synthetic, loaded):
    results = loaded(synthetic.study())
    scores, left_out = crossed(results, "digits", "uniform")
    assert (scores.shape, left_out) == ((2 * 2 * 2 * 3, 3), [])
    key = results.objective("digits")
    assert EffectsOfChoices().applies(results)
    (table,) = EffectsOfChoices().content(results)
    frame = table.frame
    own = frame[(frame["level"] == "easy") & (frame["rate"] == 0.4)].iloc[0]
    noisy = {name: results.values(name, key).mean() for name, cell in results.cells.items() if cell.rate == 0.4}
    easy = [value for name, value in noisy.items() if results.cells[name].positives == "easy"]
    assert own["effect"] == pytest.approx(np.mean(easy) - np.mean(list(noisy.values())))
    assert own["effect"] > 0
    assert not EffectsOfChoices().applies(loaded(synthetic.small()))


def test_a_loss_that_does_not_meet_all_choices_is_left_out(synthetic, loaded):
    study = synthetic.study()
    loss = study.losses[1].name
    gone = {name for name, cell in {c.name: c for c in study.cells()}.items() if cell.loss.name == loss}
    gone = {name for name in gone if name.endswith(sorted(gone)[0].rpartition("|")[2])}
    scores, left_out = crossed(loaded(study, lambda f: f[~f["cell"].isin(gone)]), "digits", "uniform")
    assert len(left_out) == 1
    assert scores.shape == (2 * 2 * 3, 3)
    assert list(itertools.product(*scores.index.levels[1:])) == [point[1:] for point in sorted(scores.index)]


@pytest.mark.parametrize(("seeds", "spread", "silent"), [(4, 1, False), (2, 60, True), (1, 1, True)])
def test_effects_with_intervals_wider_than_all_of_them_say_nothing(seeds, spread, silent):
    rng = np.random.default_rng(3)
    means, _ = draw(rng)
    noise = rng.normal(0, spread, (len(POINTS), seeds))
    assert says_nothing(effects(pd.DataFrame((means - means.mean()).to_numpy()[:, None] + noise, POINTS))) == silent
