"""What a study tells apart: simulations with known truth."""

import numpy as np
import pytest
from synthetic import KEY, only_confirmed

from dml.report import assembly
from dml.report.sections import precision as section

pytestmark = pytest.mark.slow


@pytest.fixture
def results(synthetic, loaded):
    """Easy positives are 20 points better; two negatives are equal but for noise."""

    def made(gain):
        def alter(frame):
            draw = np.random.default_rng(0)
            frame = only_confirmed(frame)
            frame[KEY] = 0.5 + 0.01 * draw.standard_normal(len(frame)) + gain * (frame["positives"] == "easy")
            return frame

        study = synthetic.study(seeds=list(range(8)), noise=synthetic.noise([0.0, 0.4]), losses=["triplet"])
        return loaded(study, alter)

    return made


def test_the_best_methods_are_a_set_of_those_that_are_not_told_apart(results):
    found = section.best_sets(results(0.2)).frame
    assert found["size"].tolist() == [2, 2]
    assert all(text.count("easy") == 2 and "random +" not in text for text in found["best"])
    equal = section.best_sets(results(0.0)).frame
    assert (equal["size"] >= 3).all()


@pytest.mark.parametrize(("lead", "silent"), [(0.0, True), (0.3, False)])
def test_sections_that_need_more_seeds_are_under_one_line(synthetic, loaded, tmp_path, monkeypatch, lead, silent):
    """Two seeds that differ by 2 points find 30 points of difference, and not 0."""
    monkeypatch.setattr(assembly, "STUDY", ("effects_of_choices", "precision", "provenance"))
    study = synthetic.study(noise=synthetic.noise([0.0]), losses=["triplet"], seeds=[0, 1])

    def alter(frame):
        frame = only_confirmed(frame)
        better = lead * (frame["positives"] == "easy")
        frame[KEY] = 0.5 + better + 0.001 * frame["seed"] * (1 + (frame["negatives"] == "random"))
        return frame

    page = assembly.study_page(loaded(study, alter), tmp_path)
    anchors = [section.anchor for section in page.sections]
    assert anchors == (["provenance", "undecided"] if silent else ["effects", "precision", "provenance"])
    if silent:
        (line,) = page.sections[-1].blocks
        assert line.title.startswith("What each choice is worth, What is not told apart: with 2 seeds")
        assert [inner.title for inner in line.blocks] == ["What each choice is worth", "What is not told apart"]
