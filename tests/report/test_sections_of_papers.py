"""Sections of papers on the pages of their studies: eta from counts pooled over seeds, eigenvalues of classes."""

import json

import numpy as np
import pytest
from sklearn.decomposition import PCA
from synthetic import first_row

from dml.report.assembly import sections_of
from papers.noise.sections.negative_skew import skew_of, table
from papers.noise.theory import skew

BINS = 40


def _counts(drawn, uniform):
    """Two histograms with these counts in their first bins."""
    return {"eta_drawn": [*drawn, *[0] * (BINS - len(drawn))], "eta_uniform": [*uniform, *[0] * (BINS - len(uniform))]}


@pytest.fixture
def logged(synthetic, loaded):
    """(diagnostics of the three seeds) -> results in which each cell logged them."""

    def make(*diagnostics, also=lambda frame: frame, **changes):
        def alter(frame):
            confirmed = frame["phase"] == "confirm"
            frame.loc[confirmed, "diagnostics"] = [json.dumps(diagnostics[s]) for s in frame.loc[confirmed, "seed"]]
            return also(frame)

        return loaded(synthetic.small(**changes), alter)

    return make


def test_counts_are_pooled_over_seeds_and_not_the_maximum_of_maxima(logged):
    seeds = [([60, 40], [500, 500]), ([40, 60], [500, 500]), ([50, 50], [500, 500])]
    results = logged(*(_counts(drawn, uniform) for drawn, uniform in seeds))
    found = skew_of(results, next(iter(results.cells)))
    assert found["eta"] == pytest.approx(1.0)  # each of the first two seeds has a ratio of 1.2
    pooled = skew.estimate_eta(*(np.array([seed[i] for seed in seeds]) for i in (0, 1)))
    assert (found["eta low"], found["eta high"]) == pytest.approx((pooled.low, pooled.high))
    assert found["eta high"] > 1


def _both(negatives, positives, **more):
    """Counts of negatives and positives in the first bins of 40, which are 0.05 wide."""
    (drawn, uniform), (own, expected) = negatives, positives
    found = _counts(drawn, uniform)
    padded = _counts(own, expected)
    return {**found, **{key.replace("eta", "eta_positive"): values for key, values in padded.items()}, **more}


def test_gamma_and_the_bound_of_the_marginal_loss(logged):
    """With beta 0.15 and margin 0.05, positives have a loss from 0.1, in the third bin; negatives below 0.2."""
    uniform = [1000, 1000, 2000, 4000, 2000]
    counts = _both(
        ([300, 300, 600, 600, 999], uniform), ([0, 0, 2000, 1000, 500], uniform), beta=0.15, training_classes=10.0
    )

    def settings(frame):
        frame["settings"] = json.dumps({"loss.margin": 0.05})
        return frame

    results = logged(*[counts] * 3, losses=["margin"], also=settings)
    found = skew_of(results, next(iter(results.cells)))
    negative = (600 / 1800) / (4000 / 10_000)  # the smallest weight is that of the fourth bin
    positive = (2000 / 3500) / (2000 / 10_000)
    assert found["gamma"] == pytest.approx(negative / positive, rel=0.03)
    assert found["gamma low"] < found["gamma"] < found["gamma high"] < 1
    for end in ("", " low", " high"):
        assert found[f"bound{end}"] == skew.marginal(found[f"gamma{end}"], 10)
    texts = first_row(table(results))
    assert texts["gamma"].startswith(f"{found['gamma']:.2f} [")
    assert texts["bound"].startswith(f"{found['bound']:.0%} [")


def test_each_eigenvalue_is_compared_with_chance(synthetic, loaded):
    results = loaded(synthetic.small("loop-shapes", seeds=[0]))
    assert "spectrum" not in sections_of(results)
    synthetic.keep(results, np.repeat(np.arange(8), 20))
    _, made = sections_of(results)["spectrum"].content(results)
    assert made.frame["eigenvalue"].tolist() == [1, 2, 3] * len(results.cells)
    own = results.embeddings(results.embedded(next(iter(results.cells))))
    points = own["embeddings"] / np.linalg.norm(own["embeddings"], axis=1, keepdims=True)
    first = [PCA(3).fit(points[own["labels_fine"] == label]).explained_variance_[0] for label in range(8)]
    assert made.frame["mean"].iloc[0] == pytest.approx(100 * np.mean(first), rel=1e-4)
    assert made.frame["variation"].iloc[0] == pytest.approx(np.std(first, ddof=1) / np.mean(first), rel=1e-4)


def test_a_paper_s_sections_are_on_the_pages_of_its_studies_only(synthetic, loaded):
    assert "negative_skew" in sections_of(loaded(synthetic.small("noise-mine")))
    assert "negative_skew" not in sections_of(loaded(synthetic.small("mine")))
