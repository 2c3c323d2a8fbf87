"""What tuning decides: a lead that only exists without it, and the setting that a score depends on."""

import json

import numpy as np
import pytest

from dml.report.sections import tuning
from dml.report.sections.tuning import importances


@pytest.fixture
def tuned(synthetic, loaded):
    """Tuning scores by positives: those of `random` vary more, and their best is higher."""

    def made(scores):
        def alter(frame):
            for positives, values in scores.items():
                rows = (frame["phase"] == "tune") & (frame["positives"] == positives)
                frame.loc[rows, "objective"] = np.resize(values, rows.sum())
            return frame

        return loaded(synthetic.small(), alter)

    return made


def test_a_lead_that_exists_only_at_one_trial_is_called_that(tuned):
    results = tuned({"easy": [0.5, 0.5, 0.5, 0.5, 0.5], "random": [0.1, 0.1, 0.1, 0.1, 0.9]})
    for row in tuning.leaders(results).frame.to_dict("records"):
        assert "easy" in row["first"]
        assert "random + random" in row["final"]
        assert row["lasts"] == "no: it leads only without tuning"
        assert row["lead at 1"] == pytest.approx(50 - 26)
        assert row["lead at last"] == pytest.approx(50 - (90 - 80 * 0.8**5))


def test_the_setting_that_explains_the_score_is_the_first():
    draw = np.random.default_rng(0)
    settings = [
        {
            "training.learning_rate": 10 ** draw.uniform(-5, -3),
            "loss.margin": draw.uniform(0, 1),
            "loss.kind": "ab"[i % 2],
        }
        for i in range(60)
    ]
    scores = [np.log10(own["training.learning_rate"]) + 0.1 * own["loss.margin"] for own in settings]
    found = importances(settings, scores)
    assert next(iter(found)) == "training.learning_rate"
    assert found["training.learning_rate"] > 0.9
    assert sum(found.values()) == pytest.approx(1.0)
    assert importances(settings[:9], scores[:9]) == {}
    assert importances([{"loss.margin": own["loss.margin"]} for own in settings], scores) == {}
    assert json.dumps(found)
    mixed = [own | {"training.clip_norm": 0.9 if i % 2 else None} for i, own in enumerate(settings)]
    assert next(iter(importances(mixed, scores))) == "training.learning_rate"
    some = [own | ({"filter.rate": 0.1 * i} if i % 2 else {}) for i, own in enumerate(settings)]
    assert importances(some, scores) == found
