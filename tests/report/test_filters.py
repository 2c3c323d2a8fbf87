"""Cells with and without a filter are told apart on every page."""

from pathlib import Path

import pandas as pd
from synthetic import KEY

from dml.config import load_study
from dml.report.analysis.embedded_cells import parts_of
from dml.report.analysis.paired import versus_winner
from dml.report.figures.against_noise import against_noise
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns, score_frame

STUDIES = Path(__file__).parents[2] / "pipelines" / "studies"
PEOPLE = Path(__file__).parents[1] / "studies" / "human-fine.yaml"


def _against_noise(results):
    frame = score_frame(results, results.cells_of("cifar100", "uniform"), [KEY])
    return against_noise(results, frame, "cifar100", "uniform", KEY)


def test_methods_tables_and_captions_name_the_filter():
    results = Results(load_study(PEOPLE), pd.DataFrame())
    plain, filtered = (
        f"cifar100|given-0.365|triplet|easy+semihard_random{end}" for end in ("", "|filter=prism(memory=4000)")
    )
    assert results.varied == ["filter"]
    assert results.methods[plain].label == "triplet, easy + semihard random"
    assert results.methods[filtered].label == ("triplet, easy + semihard random; filter prism(memory=4000) (oracle)")
    assert len(set(results.methods.values())) == 4
    assert [identity(results, name)["filter"] for name in (plain, filtered)] == ["", "prism(memory=4000) (oracle)"]
    assert "Filter" in [column.label for column in identity_columns(results)]
    assert parts_of(results, filtered)["filter"] == "filter prism(memory=4000) (oracle)"


def test_lines_with_and_without_a_filter_share_a_panel(loaded):
    figure = _against_noise(loaded(load_study(PEOPLE)))
    (panel,) = figure.axes
    assert panel.get_title() == "triplet, semihard random"
    ends = {text.get_text(): text.get_color() for text in panel.texts}
    assert set(ends) == {"random", "random,\nprism", "easy", "easy, prism"}
    assert ends["random"] == ends["random,\nprism"] != ends["easy"]
    dashes = {line.get_label(): line.get_linestyle() for line in panel.lines}
    assert {label: ";" in label for label in dashes} == {label: style == "--" for label, style in dashes.items()}
    assert len(dashes) == 4
    assert "labels that are wrong, uniform noise" in figure.get_supxlabel()


def test_a_filter_that_is_told_that_no_label_is_wrong_is_no_rival_of_the_method_without_it(loaded):
    results = loaded(load_study(STUDIES / "robust-methods.yaml"))
    names = results.rivals("omniglot", "uniform", 0.0)
    assert len(names) * 2 == len(results.cells_of("omniglot", "uniform", 0.0))
    assert all(results.cells[name].filter is None for name in names)
    assert results.rivals("omniglot", "uniform", 0.5) == results.cells_of("omniglot", "uniform", 0.5)
    compared = versus_winner(results)
    others = compared[(compared["noise"] == "uniform") & (compared["rate"] == 0)]["other"]
    assert set(others) < set(names)
