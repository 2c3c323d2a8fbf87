"""t-SNE: which points are drawn, that layouts are kept, and its section."""

import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from dml.report.page.blocks import Drawing
from dml.report.sections import tsne as analysis
from dml.report.sections.tsne import Tsne

pytestmark = pytest.mark.slow


def test_neighbours_stay_neighbours():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 8)) + 8 * rng.normal(size=(4, 8))[np.repeat(np.arange(4), 30)]
    places = analysis.layout(points, seed=0)
    assert places.shape == (120, 2)
    assert trustworthiness(points, places) > 0.9
    assert (places == analysis.layout(points, seed=0)).all()


def test_a_layout_is_kept_until_something_changes(tmp_path, monkeypatch):
    points = np.random.default_rng(1).normal(size=(40, 3))
    first = analysis.layout(points, 0, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(analysis.TSNE, "fit_transform", lambda *_: pytest.fail("computed again"))
    assert (analysis.layout(points, 0, tmp_path) == first).all()
    monkeypatch.setattr(analysis.TSNE, "fit_transform", lambda self, given: given[:, :2] * 0)
    assert (analysis.layout(points + 1, 0, tmp_path) == 0).all()
    assert (analysis.layout(points, 1, tmp_path) == 0).all()
    next(iter(sorted(tmp_path.iterdir()))).write_bytes(b"broken")
    analysis.layout(points, 0, tmp_path)


def test_the_section_has_a_panel_for_each_method_and_set(synthetic, loaded):
    results = loaded(synthetic.embedding_study("embedded", ("tsne",), seeds=[0]))
    labels = np.repeat(np.arange(24), 3)
    synthetic.keep(results, labels, sets=np.where(labels < 12, "seen", "test"))
    assert Tsne().applies(results)
    (drawing,) = list(Tsne().content(results))
    assert isinstance(drawing, Drawing)
    assert len(drawing.figure.axes) == 2 * 2
    assert "the 10 largest classes have colours" in drawing.caption
    assert [axes.get_ylabel() for axes in drawing.figure.axes if axes.get_ylabel()] == [
        "training classes",
        "new classes",
    ]
    drawn = sum(len(line.get_xdata()) for line in drawing.figure.axes[0].lines)
    assert drawn == 36
    assert len(list((results.store / "report").iterdir())) == 4
