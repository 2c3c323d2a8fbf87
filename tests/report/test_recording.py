"""What a publication keeps: a clone draws the same figures and tables, without embeddings and packed images."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from synthetic import flat

from dml import discovery
from dml.config import Study
from dml.report.assembly import figure_arrays
from dml.report.loading import load
from dml.report.page.blocks import Drawing, Paragraph
from dml.snapshots import LARGEST, Snapshot, publishing
from dml.snapshots import folder as figures

pytestmark = pytest.mark.slow

LABELS = np.repeat(np.arange(5), 12)
ASKED = ("retrieval", "similarities", "tsne", "spectrum")


@pytest.fixture
def published(synthetic, tmp_path, monkeypatch):
    """() -> results as they were run, and as a clone loads them from the snapshot."""
    monkeypatch.setattr(Study, "digest", "the same")

    def make(channels=1, **changes):
        study = synthetic.embedding_study("every", ASKED, report={"queries": 3}, **changes)
        synthetic.write(study, tmp_path)
        here = load(study, tmp_path / "results/every", tmp_path / "store", data=tmp_path / "data")
        sets = np.where(np.arange(len(LABELS)) % 5 == 0, "seen", "test")
        synthetic.keep(here, LABELS, study.training.embedding_size, sets)
        index = pd.DataFrame({"fine": LABELS[::-1], "coarse": LABELS[::-1] % 2})
        images = np.random.default_rng(0).integers(0, 255, (len(LABELS), 16, 12, channels), dtype=np.uint8)
        synthetic.pack(tmp_path / "data", "digits", images, index, sets[::-1])
        arrays = figure_arrays(study, tmp_path / "results/every", tmp_path / "store", tmp_path / "data")
        snapshot = Snapshot(tmp_path / "out/every")
        figures.write_figures(snapshot.path, arrays)
        publishing.write_table(
            publishing.rounded_trials(study, here.trials.assign(host="")), snapshot.path / "trials.parquet"
        )
        (snapshot.path / "summary.json").write_text(json.dumps({"git_commit": "0" * 40}))
        return here, load(study, tmp_path / "none", tmp_path / "none", snapshot), snapshot

    return make


def blocks_of(results, name):
    """The section's blocks, folded ones too; a block that is None is left out, as on the page."""
    yield from flat(discovery.build("dml.report.sections", name).content(results))


def drawn(figure):
    file = io.BytesIO()
    figure.savefig(file, dpi=60)
    return file.getvalue()


def assert_same(here, clone, name):
    pairs = list(zip(blocks_of(here, name), blocks_of(clone, name), strict=True))
    assert pairs
    for mine, theirs in pairs:
        assert type(mine) is type(theirs)
        if isinstance(mine, Drawing):
            assert mine.caption == theirs.caption
            assert drawn(mine.figure) == drawn(theirs.figure)
        elif not isinstance(mine, Paragraph):
            pd.testing.assert_frame_equal(mine.frame, theirs.frame, check_dtype=False)


def test_a_clone_shows_the_same_figures_and_numbers(published):
    here, clone, snapshot = published()
    for name in ASKED:
        assert_same(here, clone, name)
    assert snapshot.size < LARGEST / 5
    assert not list(snapshot.path.rglob("embeddings*"))


@pytest.mark.parametrize("channels", [1, 3])
def test_arrays_and_pictures_come_back_and_equal_ones_give_equal_bytes(tmp_path, channels):
    rng = np.random.default_rng(0)
    pixels = np.repeat(rng.integers(0, 255, (5, 8, 6, channels), dtype=np.uint8), 3 // channels, axis=3)
    arrays = {
        "tsne/key/test/places": rng.normal(size=(9, 2)).astype(np.float16),
        "pictures/all/toys/thumbnails": pixels,
    }
    arrays |= {"pictures/all/toys/names": np.array(["a", "bc"]), "pictures/all/toys/rows": np.arange(5)}
    for folder in ("a", "b"):
        figures.write_figures(tmp_path / folder, dict(reversed(arrays.items())) if folder == "b" else arrays)
    found = figures.read_figures(tmp_path / "a")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert (found[name] == array).all()
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == ["figures.npz", "pictures-toys.png"]
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)
    figures.write_figures(tmp_path / "a", {})
    assert list((tmp_path / "a").iterdir()) == []
    assert figures.read_figures(tmp_path / "a") == {}
