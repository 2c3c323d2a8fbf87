"""An audit of blobs with wrong labels that are known."""

import sys
from pathlib import Path

import pytest

from dml import audit

sys.path.insert(0, str(Path(__file__).parent))

from made_labels import blobs


@pytest.fixture(scope="session")
def noisy():
    return blobs()


@pytest.fixture(scope="session")
def found(noisy) -> audit.Audit:
    vectors, _, given = noisy
    return audit.audit(vectors, given)
