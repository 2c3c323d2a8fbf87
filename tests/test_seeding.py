"""Generators: a pure function of seed and purpose, and no global state."""

import hashlib

import numpy as np
import torch

from dml import seeding


def test_same_seed_and_purpose_give_the_same_numbers():
    first = torch.rand(5, generator=seeding.generator(3, "batches"))
    assert torch.equal(first, torch.rand(5, generator=seeding.generator(3, "batches")))
    assert np.array_equal(seeding.numpy_generator(3, "a").random(5), seeding.numpy_generator(3, "a").random(5))


def test_another_seed_or_purpose_gives_others():
    streams = {tuple(seeding.numpy_generator(s, p).random(3)) for s in range(4) for p in ("batches", "miner", "init")}
    assert len(streams) == 12


def test_the_global_state_is_left_alone():
    torch_before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    torch.rand(3, generator=seeding.generator(0, "x"))
    seeding.numpy_generator(0, "x").random(3)
    assert torch.equal(torch.get_rng_state(), torch_before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


def test_derived_seeds_are_fixed_for_ever():
    """A change here would silently change every published number."""
    first = hashlib.sha256(b"0/batches").digest()[:8]
    assert seeding.derive(0, "batches") == int.from_bytes(first, "big") >> 1
    assert 0 <= seeding.derive(-5, "x") < 2**63
