"""Studies that make claims, on results with a known truth."""

import json

import numpy as np
import pytest

from dml.report import claims
from dml.report.claims import ClaimTest, paired, reached
from dml.report.verdicts import Claim

EASY, RANDOM = {"positives": "easy"}, {"positives": "random"}
KEY = "test/fine/recall@1"
TUNED = {"fixed": "known truth"}


@pytest.fixture(scope="session")
def claim():
    """`(changes) -> claim` that easy positives help, but for the changes. `asked` takes its function."""
    return _claim


def _claim(function=None, id="", paper="mine", text="Easy positives help.", place="", stand_in="", reach=None, **said):
    def helps(results):
        condition = "" if reach is None else reached(results, RANDOM, said.get("score", KEY), reach)
        yield paired(results, EASY, RANDOM, condition=condition, **{**TUNED, **said})

    return ClaimTest(Claim(id, paper, text, place), function or helps, (), stand_in)


@pytest.fixture
def asked(monkeypatch):
    """`(claims)` lets every study test these."""
    return lambda tests: monkeypatch.setattr(claims, "tests_of", lambda study: list(tests))


@pytest.fixture(scope="session")
def made():
    """`(gains) ->` changes of a study, and `alter`, which adds the gains to its synthetic scores."""
    return _made


def _made(gains=(), seeds=range(5), rates=(0.0,), losses=("triplet",)):
    """`alter`: easy positives score `gains[seed]` points more than random ones."""

    def alter(frame):
        frame = frame[frame["phase"] == "confirm"].copy()
        frame[KEY] = 0.5 + 0.01 * frame["seed"]
        frame["curve"] = json.dumps([[step, {KEY: 0.5}] for step in (200, 400)])  # no longer rising
        easy = frame["positives"] == "easy"
        frame.loc[easy, KEY] += np.array(gains)[frame.loc[easy, "seed"].astype(int)] / 100
        return frame

    return {"seeds": list(seeds), "losses": list(losses), "noise": rates}, alter


@pytest.fixture
def verdicts(synthetic, loaded, asked):
    """`(claims, gains) ->` the verdicts of one study."""

    def make(tests, gains, alter=lambda frame: frame, **options):
        changes, base = _made(gains, **options)
        study = synthetic.small(**{**changes, "noise": synthetic.noise(list(changes["noise"]))})
        asked(tests)
        (results,) = claims.with_verdicts([loaded(study, lambda frame: alter(base(frame)))])
        return list(results.verdicts)

    return make
