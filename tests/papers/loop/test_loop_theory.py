"""The theory page's sections on LoOp: verdicts come from the numbers, and change when the numbers do."""

import numpy as np
import pytest

from papers.loop.sections import loop_proposition
from papers.loop.sections.loop_cases import LoopCases
from papers.loop.sections.loop_proposition import LoopProposition
from papers.loop.sections.loop_steps import LoopSteps
from papers.loop.theory import loop_losses, own_class
from papers.loop.theory.search import Agreement
from papers.loop.verdicts import of_cases as case_verdicts
from papers.loop.verdicts import of_steps as step_verdicts

pytestmark = pytest.mark.slow

EXPECTED = {
    "loop-nine-cases": "confirmed",
    "loop-case-0": "refuted",
    "loop-segments": "confirmed",
    "loop-proposition-1": "refuted",
    "loop-closest-pair": "refuted",
    "loop-gradients": "refuted",
    "loop-hphn-lifted": "confirmed",
}


def test_verdicts():
    found = [v for section in (LoopCases(), LoopProposition(), LoopSteps()) for v in section.verdicts()]
    assert {v.claim: v.verdict for v in found} == EXPECTED
    for verdict in found:
        assert verdict.finding
        assert bool(verdict.corrected) == (verdict.verdict == "refuted")


def test_nine_cases_that_miss_the_minimum_are_refuted(monkeypatch):
    hits = np.full(9, 50)
    found = {
        kind: Agreement(a.pairs, a.hits, 0.1, a.below, a.attained) for kind, a in case_verdicts.arcs_found().items()
    }
    monkeypatch.setattr(case_verdicts, "arcs_found", lambda: found)
    assert case_verdicts.nine_cases().verdict == "refuted"
    idle = {kind: Agreement(450, hits * (np.arange(9) > 0), 0.0, 0.0, 0.0) for kind in found}
    monkeypatch.setattr(case_verdicts, "arcs_found", lambda: idle)
    assert case_verdicts.nine_cases().verdict == "undecided"


def test_a_proposition_without_counterexample_is_not_refuted(monkeypatch):
    example = own_class.flat_counterexample()
    same = example._replace(second=own_class.gaussian(np.array([0.0, 9.0]), np.diag([9.0, 1.0])))
    monkeypatch.setattr(loop_proposition, "_examples", lambda: (same, same, same))
    assert loop_proposition._verdict().verdict == "undecided"  # random pairs leave their class


def test_other_gradients_and_choices_change_the_verdict(monkeypatch):
    exchanged = {
        (f, "plain" if loss == "squared" else "squared"): a for (f, loss), a in step_verdicts.agreements().items()
    }
    monkeypatch.setattr(step_verdicts, "agreements", lambda: exchanged)
    assert step_verdicts.printed_gradients().verdict == "confirmed"
    good = {
        form: {key: [row._replace(good=1.0) for row in rows] for key, rows in step_verdicts.rows(form).items()}
        for form in ("plain", "squared")
    }
    monkeypatch.setattr(step_verdicts, "rows", lambda form: good[form])
    assert step_verdicts.closest_pair().verdict == "confirmed"
    unequal = [d._replace(value=0.1) for d in loop_losses.differences()]
    monkeypatch.setattr(step_verdicts, "differences", lambda: unequal)
    assert step_verdicts.equal_losses().verdict == "refuted"
