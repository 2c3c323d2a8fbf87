"""The theory page's numbers."""

import pytest

from dml.report.claims_page import theory_sections
from dml.report.sections import reference_values
from papers.eps.sections import stability, zero_loss
from papers.eps.theory import clean_risk
from papers.noise.sections import pair_noise
from papers.noise.theory import pair_noise as theory_pair_noise

pytestmark = pytest.mark.slow


VERDICTS = {
    "eps-contrastive-collapse": "confirmed",
    "eps-zero-loss-family": "refuted",
    "eps-theorem-1": "refuted",
    "eps-theorem-2": "refuted",
    "eps-t-labels": "refuted",
    "eps-claim-1": "confirmed",
    "eps-claim-2": "confirmed",
    "eps-no-collapse-minimiser": "confirmed",
    "eps-claim-3": "confirmed",
    "eps-claim-4": "confirmed",
    "eps-pushed-away": "refuted",
    "eps-stability": "refuted",
    "noise-pair-noise": "refuted",
    "noise-proposition-1": "confirmed",
    "noise-unhinged-marginal": "confirmed",
}


@pytest.fixture(scope="module")
def verdicts():
    """Each verdict of the theory page by its claim."""
    found = [v for section in theory_sections() if hasattr(section, "verdicts") for v in section.verdicts()]
    assert len({v.claim for v in found}) == len(found)
    return {v.claim: v for v in found}


@pytest.mark.parametrize("claim", VERDICTS)
def test_verdicts(verdicts, claim):
    assert verdicts[claim].verdict == VERDICTS[claim]
    assert any(letter.isdigit() for letter in verdicts[claim].finding)
    assert bool(verdicts[claim].corrected) == (VERDICTS[claim] == "refuted")


class TestVerdictsFollowTheNumbers:
    """With other numbers the verdicts are others."""

    @pytest.fixture(autouse=True)
    def _fresh(self):
        computed = (stability._tests, stability._verdict, pair_noise._verdict, zero_loss._family)
        for function in computed:
            function.cache_clear()
        yield
        for function in computed:
            function.cache_clear()

    def test_stability(self, monkeypatch):
        table = reference_values.table().copy()
        row = (table["dataset"] == "cub200") & (table["method"] == "EPS + Trip. + SH") & (table["metric"] == "R@1")
        assert row.sum() == 1
        table.loc[row, "value"] += 2
        monkeypatch.setattr(reference_values, "table", lambda: table)
        assert stability._verdict().verdict == "confirmed"

    def test_pair_noise(self, monkeypatch):
        right = theory_pair_noise.positive_to_negative
        monkeypatch.setattr(
            theory_pair_noise, "positive_to_negative", lambda p, classes, printed=False: right(p, classes)
        )
        assert pair_noise._verdict().verdict == "confirmed"
        monkeypatch.setattr(theory_pair_noise, "negative_to_positive", lambda p, classes: p / 2)
        assert pair_noise._verdict.__wrapped__().verdict == "undecided"

    def test_zero_loss(self, monkeypatch):
        monkeypatch.setattr(clean_risk, "printed", clean_risk.corrected)
        assert zero_loss._family().verdict == "confirmed"
