"""Miners by name: settings, declarations, errors."""

import inspect

import pytest

from dml import discovery
from dml.protocols import NegativePolicy, PositivePolicy

PARTS = [(kind, name) for kind in ("positives", "negatives") for name in discovery.names(f"dml.miners.{kind}")]


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_declarations(kind, name):
    """As the protocols say; a study's settings are for all policies, so one name has one default."""
    part = discovery.find(f"dml.miners.{kind}", name)
    protocol = {"positives": PositivePolicy, "negatives": NegativePolicy}[kind]
    assert isinstance(part.version, int)
    assert list(inspect.signature(part.__call__).parameters) == list(inspect.signature(protocol.__call__).parameters)
    settings = discovery.settings_of(part)
    assert set(discovery.defaults_of(part)) == set(settings)
    assert len(settings) == (0 if part.__init__ is object.__init__ else len(inspect.signature(part).parameters))
    for other in PARTS:
        theirs = discovery.defaults_of(discovery.find(f"dml.miners.{other[0]}", other[1]))
        assert all(theirs[key] == value for key, value in discovery.defaults_of(part).items() if key in theirs)
