"""The theory page's sections on LoOp: verdicts come from the numbers, and change when the numbers do."""

import numpy as np
import pytest

from papers.loop.sections import loop_proposition
from papers.loop.sections.loop_cases import LoopCases
from papers.loop.sections.loop_proposition import LoopProposition
from papers.loop.sections.loop_steps import LoopSteps
from papers.loop.theory import class_membership

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


def test_a_proposition_without_counterexample_is_not_refuted(monkeypatch):
    example = class_membership.flat_counterexample()
    same = example._replace(second=class_membership.gaussian(np.array([0.0, 9.0]), np.diag([9.0, 1.0])))
    monkeypatch.setattr(loop_proposition, "_examples", lambda: (same, same, same))
    assert loop_proposition._verdict().verdict == "undecided"  # random pairs leave their class
