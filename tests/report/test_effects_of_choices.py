"""Effects pooled over all else: against naive loops, with true effects that are known, and on the page."""

import itertools

import numpy as np
import pytest

from dml.report.analysis.factorial import (
    Crossed,
    complete,
    crossed,
    effects_at,
    pooled_effects,
)
from dml.report.page.blocks import Drawing, Folded
from dml.report.sections.effects_of_choices import EffectsOfChoices

pytestmark = pytest.mark.slow

LEVELS = {"loss": ("a", "b", "c"), "positives": ("p", "q"), "negatives": ("x", "y", "z")}
RATES = (0.0, 0.4)
SHAPE = (3, 2, 3, 2)


def block_of(scores) -> Crossed:
    return Crossed("toys", "uniform", LEVELS, RATES, tuple(range(scores.shape[-1])), scores)


def draw(rng, seeds=4, noise=1.0):
    """(true means of all cells, scores with noise of cells and of seeds)."""
    loss, positives, negatives = (rng.normal(0, 2, size) for size in (3, 2, 3))
    both = rng.normal(0, 1, (3, 2))
    means = 50 + loss[:, None, None, None] + positives[None, :, None, None] + negatives[None, None, :, None]
    means = means + both[:, :, None, None] - np.array([0, 20.0])
    scores = means[..., None] + rng.normal(0, noise, (*SHAPE, seeds)) + rng.normal(0, 5, seeds)
    return means, scores


def test_effects_against_a_loop():
    _, scores = draw(np.random.default_rng(0))
    block = block_of(scores)
    cells = list(itertools.product(range(3), range(2), range(3)))
    for place, (axis, levels) in enumerate(LEVELS.items()):
        for r, rate in enumerate(RATES):
            found = effects_at(block, axis, rate)
            for level, seed in itertools.product(range(len(levels)), range(4)):
                mine = [scores[(*c, r, seed)] for c in cells if c[place] == level]
                every = [scores[(*c, r, seed)] for c in cells]
                assert found[level, seed] == pytest.approx(np.mean(mine) - np.mean(every))


def test_intervals_of_effects_cover_the_truth_and_seeds_that_are_good_for_all_do_not_widen_them():
    rng, hits, widths = np.random.default_rng(1), [], []
    for _ in range(80):
        means, scores = draw(rng)
        for effect in pooled_effects(block_of(scores)):
            at, place = means[..., RATES.index(effect.rate)], list(LEVELS).index(effect.axis)
            own = at.take(LEVELS[effect.axis].index(effect.level), axis=place)
            hits.append(effect.summary.low <= own.mean() - at.mean() <= effect.summary.high)
            widths.append(effect.summary.high - effect.summary.low)
    assert np.mean(hits) == pytest.approx(0.95, abs=0.025)
    assert np.mean(widths) < 2  # the seeds' own spread of 5 would make it 16


def test_holm_is_over_all_effects_of_the_factorial():
    _, scores = draw(np.random.default_rng(2))
    found = pooled_effects(block_of(scores))
    assert len(found) == (3 + 2 + 3) * 2
    first = min(found, key=lambda e: e.p)
    assert first.holm == pytest.approx(min(1, first.p * (3 + 1 + 3) * 2))  # two levels are one question
    for one, other in itertools.combinations([e for e in found if e.axis == "positives"], 2):
        if one.rate == other.rate:
            assert one.holm == other.holm
    alone = pooled_effects(block_of(scores[..., :1]))
    assert all(np.isnan(e.holm) and np.isnan(e.summary.low) for e in alone)


def test_cells_are_left_out_until_all_levels_meet():
    every = [*itertools.product("abc", "pq", "xy")]
    assert complete(every, 3) == ([["a", "b", "c"], ["p", "q"], ["x", "y"]], [])
    levels, left_out = complete([*every, ("d", "p", "x")], 3)
    assert levels[0] == ["a", "b", "c"]
    assert left_out == [(0, "d")]
    levels, left_out = complete([point for point in every if point != ("b", "q", "y")], 3)
    assert len(left_out) == 1
    assert np.prod([len(own) for own in levels]) in (6, 8)


def test_a_study_with_crossed_axes_shows_effects(synthetic, loaded):
    results = loaded(synthetic.study())
    (block,) = crossed(results)
    assert block.scores.shape == (2, 2, 2, 3, 3)
    key = results.objective("digits")
    np.testing.assert_allclose(block.scores[0, 0, 0, 0], results.values(next(iter(results.cells)), key))
    assert EffectsOfChoices().applies(results)
    drawing, table = filter(None, EffectsOfChoices().content(results))
    assert isinstance(drawing, Drawing)
    assert isinstance(table, Folded)
    frame = table.blocks[0].frame
    own = frame[(frame["level"] == "easy") & (frame["rate"] == 0.4)].iloc[0]
    noisy = {name: results.values(name, key).mean() for name, cell in results.cells.items() if cell.rate == 0.4}
    easy = [value for name, value in noisy.items() if results.cells[name].positives == "easy"]
    assert own["effect"] == pytest.approx(np.mean(easy) - np.mean(list(noisy.values())))
    assert own["effect"] > 0
    assert not EffectsOfChoices().applies(loaded(synthetic.small()))
