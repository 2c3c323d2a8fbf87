"""scikit-learn's digits: pixels, labels, and the held-out share."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from small_archives import Row, Small, quiet

from dml.data.packing import open_packed, pack
from dml.data.sources import Digits, Numbers


def make(folder):
    digits = load_digits().target.tolist()
    index = pd.DataFrame({"fine": digits, "path": [f"digits/{row:04d}" for row in range(len(digits))]})
    roles = Digits().roles(index)
    return Small({}, [Row(d, d % 2, "all", role, None) for d, role in zip(digits, roles, strict=True)], channels=1)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    pack(Digits(), folder, folder / "packed", report=quiet)
    return open_packed(folder / "packed")


def test_images_are_those_of_scikit_learn(packed):
    bunch = load_digits()
    assert packed.images.shape == (1797, 8, 8, 1)
    np.testing.assert_array_equal(packed.index["fine"], bunch.target)
    np.testing.assert_allclose(packed.images[:, :, :, 0] / 255 * 16, bunch.images, atol=0.04)
    np.testing.assert_array_equal(packed.index["coarse"], bunch.target % 2)


@pytest.mark.parametrize("source", [Digits(), Numbers()], ids=lambda source: source.name)
def test_no_second_goes_into_importing_scikit_learn(monkeypatch, source):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # an import of it fails
    assert len(list(source.images(Path()))) == source.counts["all"]["images"]


def test_roles(packed):
    fine, roles = packed.index["fine"].to_numpy(), Digits().roles(packed.index)
    assert set(fine[roles == "train"]) == set(fine[roles == "seen"]) == set(range(6))
    assert set(fine[roles == "test"]) == {6, 7, 8, 9}
    for digit in range(6):
        held = np.mean(roles[fine == digit] == "seen")
        assert held == pytest.approx(0.2, abs=0.5 / np.sum(fine == digit))


def test_who_is_held_out_never_changes(packed):
    seen = np.flatnonzero(Digits().roles(packed.index) == "seen")
    assert seen[:6].tolist() == [4, 59, 64, 71, 75, 78]
    assert not np.any(Digits(seen_share=0.0).roles(packed.index) == "seen")


def test_roles_follow_the_rows_when_one_is_skipped(packed):
    roles = pd.Series(Digits().roles(packed.index))
    again = Digits().roles(packed.index.sample(frac=1, random_state=1))
    order = packed.index.sample(frac=1, random_state=1).index
    np.testing.assert_array_equal(roles[order].to_numpy(), again)
