"""What a publication keeps: a clone draws the same figures and tables, without embeddings."""

import io

import numpy as np
import pytest

from dml.report.assembly import figure_arrays
from dml.report.loading import load
from dml.report.results import FigureData
from dml.snapshots.folder import Snapshot, write_figures
from papers.eps.sections.planes import Planes

pytestmark = pytest.mark.slow


def drawn(figure):
    file = io.BytesIO()
    figure.savefig(file, dpi=60)
    return file.getvalue()


@pytest.fixture
def both(synthetic, tmp_path):
    """(study, labels of kept embeddings) -> results as they were run, and with the arrays of their snapshot."""

    def make(study, labels=None):
        synthetic.write(study, tmp_path)
        here = load(study, tmp_path / "results" / study.name, tmp_path / "store")
        if labels is not None:
            synthetic.keep(here, labels)
        write_figures(tmp_path, figure_arrays(study, tmp_path / "results" / study.name, tmp_path / "store"))
        clone = load(study, tmp_path / "results" / study.name)
        object.__setattr__(clone, "figures", FigureData(Snapshot(tmp_path).figures()))
        return here, clone

    return make


def test_a_clone_draws_the_same_planes(synthetic, both):
    here, clone = both(synthetic.plane_study(seeds=1))
    (mine,), (theirs,) = (list(Planes().content(results)) for results in (here, clone))
    assert mine.caption == theirs.caption
    assert drawn(mine.figure) == drawn(theirs.figure)


def test_equal_arrays_give_equal_bytes_and_none_no_file(tmp_path):
    arrays = {"planes/key/test/points": np.arange(6, dtype=np.float16).reshape(3, 2), "classes/key/a": np.array(["b"])}
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_figures(tmp_path / folder, dict(reversed(arrays.items())) if folder == "b" else arrays)
    found = Snapshot(tmp_path / "a").figures()
    assert found.keys() == arrays.keys()
    assert all((found[name] == array).all() and found[name].dtype == array.dtype for name, array in arrays.items())
    assert (tmp_path / "a/figures.npz").read_bytes() == (tmp_path / "b/figures.npz").read_bytes()
    write_figures(tmp_path / "a", {})
    assert list((tmp_path / "a").iterdir()) == []
