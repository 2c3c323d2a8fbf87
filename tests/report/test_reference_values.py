"""The reference values of papers."""

import pytest

from dml.config import ReferenceSection
from dml.report.sections import reference_values

ENTRY = {"paper": "eps", "table": "1", "dataset": "mnist", "labels": "digits, train classes", "method": "EPS + Triplet"}


def test_lookup_by_a_studys_entry():
    assert reference_values.lookup(ReferenceSection(**ENTRY)) == {"R@1": 65.8, "R@5": 93.6, "R@10": 97.4}


def test_an_entry_without_a_row_lists_the_choices():
    with pytest.raises(ValueError, match="Triplett") as raised:
        reference_values.lookup(ReferenceSection(**{**ENTRY, "method": "EPS + Triplett"}))
    for part in ("reference_values", "did you mean 'EPS + Triplet'", "Choices: "):
        assert part in str(raised.value)
