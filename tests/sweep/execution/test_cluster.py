"""Clusters that ask for a token, as Ray makes one by itself; and a machine too busy to start Ray at once."""

import pytest
import ray

from dml.sweep.execution import cluster

SLOW = "The current node timed out during startup. This could happen because some of the raylet failed to startup"


@pytest.mark.parametrize(
    ("errors", "tries", "raised"), [([SLOW, SLOW], 3, ""), ([SLOW] * 3, 3, SLOW), (["no"], 1, "no")]
)
def test_ray_that_took_too_long_to_start_is_started_again(monkeypatch, errors, tries, raised):
    made, left = [], list(errors)

    def init(**settings):
        made.append(settings["address"])
        if left:
            raise Exception(left.pop(0))

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if raised:
        with pytest.raises(Exception, match=raised):
            cluster.connect()
    else:
        cluster.connect()
    assert made == ["local"] * tries
