"""The reference values of papers."""

import pytest

from dml.config import ReferenceSection
from dml.report import reference_values
from dml.report.labels import metric_label

ENTRY = {"paper": "eps", "table": "1", "dataset": "mnist", "labels": "digits, train classes", "method": "EPS + Triplet"}


def test_lookup_by_a_studys_entry():
    assert reference_values.lookup(ReferenceSection(**ENTRY)) == {"R@1": 65.8, "R@5": 93.6, "R@10": 97.4}


def test_a_supplements_table_is_found_by_its_name():
    row = reference_values.table().query("table == 'S1'").iloc[0]
    entry = {key: row[key] for key in ("paper", "table", "dataset", "labels", "method")}
    assert reference_values.lookup(ReferenceSection(**entry))[row["metric"]] == row["value"]


def test_an_entry_without_a_row_lists_the_choices():
    with pytest.raises(ValueError, match="Triplett") as raised:
        reference_values.lookup(ReferenceSection(**{**ENTRY, "method": "EPS + Triplett"}))
    for part in ("reference_values", "did you mean 'EPS + Triplet'", "Choices: "):
        assert part in str(raised.value)


@pytest.mark.parametrize(
    ("ours", "papers"),
    [
        *(("recall@1", "R@1"), ("recall@30", "R@30"), ("recall@100", "R@100"), ("map@r", "MAP@R"), ("f1", "F1")),
        *(("nmi", "NMI"), ("nmi+", "NMI+"), ("nmi@30", "NMI, 30 clusters")),
    ],
)
def test_metrics_are_written_as_in_the_papers(ours, papers):
    assert metric_label(ours) == papers
