"""Cells with and without a filter are told apart on every page."""

from pathlib import Path

import pandas as pd

from dml.config import load_study
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns

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
