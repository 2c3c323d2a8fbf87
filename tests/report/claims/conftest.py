"""Studies that make claims, on results with a known truth."""

from __future__ import annotations

import json

import numpy as np
import pytest
from synthetic import EASIER

from dml.config import ClaimSection
from dml.report.analysis.claims import with_verdicts

HELPS = {"paper": "mine", "text": "Easy positives help.", "compare": EASIER}


@pytest.fixture(scope="session")
def claim():
    """`(changes) -> claim` that easy positives help, but for the changes."""
    return lambda **changes: ClaimSection(**{**HELPS, **changes})


@pytest.fixture(scope="session")
def made():
    """`(claims, gains) ->` a study with these claims, and `alter`, which adds the gains to its synthetic scores."""
    return _made


def _made(claims, gains=(), seeds=range(5), rates=(0.0,), losses=("triplet",), fixed="known truth"):
    """`alter`: easy positives score `gains[seed]` points more than random ones. `fixed` as in each claim."""
    claims = [claim.model_copy(update={"fixed": fixed}) for claim in claims]

    def alter(frame):
        frame = frame[frame["phase"] == "confirm"].copy()
        frame["test/fine/recall@1"] = 0.5 + 0.01 * frame["seed"]
        frame["curve"] = json.dumps([[step, {"test/fine/recall@1": 0.5}] for step in (200, 400)])  # no longer rising
        easy = frame["positives"] == "easy"
        frame.loc[easy, "test/fine/recall@1"] += np.array(gains)[frame.loc[easy, "seed"].astype(int)] / 100
        return frame

    return {"claims": claims, "seeds": list(seeds), "losses": list(losses), "noise": rates}, alter


@pytest.fixture
def verdicts(synthetic, loaded):
    """`(claims, gains) ->` the verdicts of one study."""

    def make(claims, gains, alter=lambda frame: frame, **options):
        changes, base = _made(claims, gains, **options)
        study = synthetic.small(**{**changes, "noise": synthetic.noise(list(changes["noise"]))})
        (results,) = with_verdicts([loaded(study, lambda frame: alter(base(frame)))])
        return list(results.verdicts)

    return make
