"""Overlap of similarities against naive references, and its section."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dml.report.page.blocks import Drawing, Folded, Table
from dml.report.sections import similarities as analysis
from dml.report.sections.similarities import Similarities

pytestmark = pytest.mark.slow


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(5), [1, 4, 7, 9, 12]))
    found = rng.normal(size=(len(labels), 3))
    return found / np.linalg.norm(found, axis=1, keepdims=True), labels


@pytest.mark.parametrize("cosine", [True, False])
def test_all_pairs_against_a_loop(points, cosine):
    embedded, labels = points
    expected = {True: [], False: []}
    for i, j in itertools.combinations(range(len(labels)), 2):
        value = embedded[i] @ embedded[j] if cosine else -np.linalg.norm(embedded[i] - embedded[j])
        expected[bool(labels[i] == labels[j])].append(value)
    found = analysis.similarities(embedded, labels, cosine, seed=0)
    for values, same in zip(found, (True, False), strict=True):
        np.testing.assert_allclose(np.sort(values), np.sort(expected[same]), atol=1e-6)


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (0.0, 3.0)])
def test_the_overlap_of_two_normal_distributions(shift, scale):
    rng = np.random.default_rng(3)
    grid = np.linspace(-20, 20, 40_001)
    exact = np.minimum(stats.norm.pdf(grid), stats.norm.pdf(grid, shift, scale)).sum() * (grid[1] - grid[0])
    positive, negative = rng.normal(shift, scale, 100_000), rng.normal(0, 1, 100_000)
    assert analysis.overlap(positive, negative) == pytest.approx(exact, abs=0.015)
    squeezed = [np.tanh(5 + values / 10) for values in (positive, negative)]  # all almost 1
    assert analysis.overlap(*squeezed) == pytest.approx(exact, abs=0.015)


@pytest.fixture
def kept(synthetic, loaded):
    """(normalize) -> results of embeddings on two sets."""

    def make(**report):
        results = loaded(synthetic.embedding_study("embedded", ("similarities",), report=report))
        labels = np.repeat(np.arange(6), 20)
        synthetic.keep(results, labels, sets=np.where(labels < 3, "seen", "test"))
        return results

    return make


def test_the_section_has_a_figure_for_each_set_and_a_table_over_seeds(kept):
    results = kept()
    figure, folded, table = list(Similarities().content(results))
    assert isinstance(figure, Drawing)
    assert isinstance(folded, Folded)
    assert isinstance(table, Table)
    assert [axes.get_ylabel() for axes in figure.figure.axes if axes.get_ylabel()] == [
        "before training",
        "after training",
    ]
    assert len(table.frame) == 2 * 2  # methods at the first noise rate, sets
    assert (table.frame["reverse after training n"] == 2).all()
    assert (table.frame["reverse after training mean"] < table.frame["reverse before training mean"]).all()
    trials = results.confirmed[results.confirmed["cell"] == next(iter(results.cells))]
    expected = []
    for key in trials["key"]:
        content = results.embeddings(key)
        chosen = content["set"] == "test"
        own, labels = content["embeddings"][chosen], content["labels_fine"][chosen]
        own = own / np.linalg.norm(own, axis=1, keepdims=True)
        same, values = labels[:, None] == labels, own @ own.T
        upper = np.triu(np.ones_like(same), 1)
        p, n = values[upper & same], values[upper & ~same]
        expected.append(100 * (n[None] > p[:, None]).mean())
    assert table.frame["reverse after training mean"].iloc[0] == pytest.approx(np.mean(expected), abs=1e-3)
