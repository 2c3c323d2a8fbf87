"""A page with every figure of kept embeddings, built as the pipeline does."""

import numpy as np
import pandas as pd
import pytest
from synthetic import contents

from dml.report.site import build

FIGURES = ("retrieval", "similarities", "tsne", "spectrum")
LABELS = np.repeat(np.arange(5), 12)


@pytest.fixture
def folders(synthetic, loaded, tmp_path, monkeypatch):
    """(study, arguments of `build` without the folder of the report)."""
    monkeypatch.setattr("dml.report.site.theory_sections", list)
    study = synthetic.embedding_study("every", FIGURES, seeds=[0])
    synthetic.keep(loaded(study), LABELS)
    table = pd.DataFrame({"fine": LABELS[::-1], "coarse": LABELS[::-1] % 2})
    images = np.random.default_rng(0).integers(0, 255, (len(LABELS), 16, 16, 3), dtype=np.uint8)
    synthetic.pack(tmp_path / "data" / study.name, "digits", images, table, np.full(len(LABELS), "test"))
    return study, [tmp_path / "results", tmp_path / "store"], {"data": tmp_path / "data"}


@pytest.mark.slow
def test_each_figure_is_on_the_page_and_comes_out_the_same_again(folders, tmp_path):
    study, before, data = folders
    first, second = (build([study], *before, tmp_path / out, **data).parent for out in "ab")
    page = (first / "studies" / "every.html").read_text(encoding="utf-8")
    for figure in FIGURES:
        assert f'id="{figure}"' in page
        assert f"figures/every/{figure}-digits" in page
    assert contents(first) == contents(second)
    assert max(path.stat().st_size for path in (first / "figures").glob("*/*.svg")) < 2_000_000
