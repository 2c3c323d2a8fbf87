"""What holds for every noise model."""

import inspect

import numpy as np
import pytest

from dml import discovery, noise
from dml.protocols import NOISE_CONTEXT

pytestmark = pytest.mark.parametrize("name", discovery.names("dml.noise"))


def test_declarations(name):
    part = discovery.find("dml.noise", name)
    assert part is getattr(noise, discovery.class_name(name))
    assert isinstance(part.version, int)
    assert isinstance(part.topline, bool)
    assert set(part.context) <= set(NOISE_CONTEXT)
    parameters = inspect.signature(part.corrupt).parameters
    assert list(parameters)[:3] == ["self", "labels", "seed"]
    assert set(list(parameters)[3:]) == set(part.context)
    assert all(p.default is not p.empty for p in list(parameters.values())[3:])
    settings = discovery.settings_of(part)
    assert "rate" in settings
    assert {key for key, p in settings.items() if p.default is p.empty} <= {"rate", "path"}
    assert not any(p.kind is p.VAR_KEYWORD for p in inspect.signature(part).parameters.values())


@pytest.mark.parametrize("seed", range(5))
def test_record(name, seed, tools):
    labels = tools.make_labels(seed)
    before = labels.copy()
    for rate in (0.0, 0.1, 0.35):
        observed, flipped = tools.corrupt(name, labels, rate, seed)
        assert (labels == before).all()
        assert observed.dtype == np.int64
        assert flipped.dtype == bool
        assert observed.shape == flipped.shape == labels.shape
        assert (flipped == ((observed != labels) & (observed >= 0))).all()
        assert set(observed) <= {*labels, -1}
        assert rate > 0 or (observed == labels).all()


def test_same_seed_same_labels(name, tools):
    labels = tools.make_labels()
    one, same, other = (tools.corrupt(name, labels, 0.3, seed) for seed in (1, 1, 2))
    assert (one.observed == same.observed).all()
    assert (one.observed == other.observed).all() == tools.reads_labels(name)


def test_the_measured_rate_is_the_given_one(name, tools):
    labels = tools.make_labels()
    for rate in (0.1, 0.25, 0.4):
        observed, flipped = tools.corrupt(name, labels, rate)
        if discovery.find("dml.noise", name).topline:
            assert (observed < 0).sum() == round(rate * len(labels))
            assert not flipped.any()
        else:
            assert abs(flipped.sum() - rate * (observed >= 0).sum()) <= 1


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan"), "half", True])
def test_wrong_rates(name, rate, tools):
    with pytest.raises(ValueError, match=f"rate: .*0 <= rate < 1.*{rate!r}"):
        noise.build(name, rate=rate, **({"path": "labels.csv"} if tools.reads_file(name) else {}))


def test_one_class(name, tools):
    """There is no wrong label: an error, unless samples are left out or nothing changes."""
    labels = np.zeros(10, dtype=int)
    assert not tools.corrupt(name, labels, 0.0).flipped.any()
    try:
        observed, flipped = tools.corrupt(name, labels, 0.5)
    except ValueError as error:
        assert "0.5" in str(error)  # noqa: PT017
    else:
        assert not flipped.any()
        assert set(observed) <= {0, -1}
