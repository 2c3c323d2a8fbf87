"""Verdicts on comparisons whose truth is known; the benchmark has 2,000 draws of each."""

import comparisons
import pytest

pytestmark = pytest.mark.slow

DRAWS = 30


def said(truth, tuned, seeds, folds=0):
    """The share of each verdict, in percent: confirmed, refuted, undecided, not tested."""
    cells = comparisons.arm(truth, tuned, seeds, folds, DRAWS).split("|")[4:8]
    return dict(
        zip(("confirmed", "refuted", "undecided", "not tested"), (float(c.strip(" %")) for c in cells), strict=True)
    )


def test_over_class_splits_a_better_method_is_found_and_equal_ones_are_not_told_apart():
    """The bounds are at least three standard errors of 30 draws from the benchmark's shares."""
    better, equal = (said(truth, True, 2, 5) for truth in ("better", "equal"))
    assert better["confirmed"] > 40, "the variance is corrected for shared training classes"
    assert better["refuted"] == better["not tested"] == 0
    assert equal["undecided"] > 80
    untuned = said("better untuned", True, 2, 5)
    assert untuned == equal, "defaults do not matter to a tuned study"
