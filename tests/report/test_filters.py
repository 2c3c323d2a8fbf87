"""Cells with and without a filter are told apart on every page."""

from pathlib import Path

import pandas as pd

from dml.config import load_study
from dml.report.analysis.paired import versus_winner
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns

STUDIES = Path(__file__).parents[2] / "pipelines" / "studies"
PEOPLE = Path(__file__).parents[1] / "studies" / "human-fine.yaml"


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


def test_a_filter_that_is_told_that_no_label_is_wrong_is_no_rival_of_the_method_without_it(loaded):
    results = loaded(load_study(STUDIES / "robust-methods.yaml"))
    names = results.rivals("omniglot", "uniform", 0.0)
    assert len(names) * 2 == len(results.cells_of("omniglot", "uniform", 0.0))
    assert all(results.cells[name].filter is None for name in names)
    assert results.rivals("omniglot", "uniform", 0.5) == results.cells_of("omniglot", "uniform", 0.5)
    compared = versus_winner(results)
    others = compared[(compared["noise"] == "uniform") & (compared["rate"] == 0)]["other"]
    assert set(others) < set(names)
