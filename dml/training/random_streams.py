"""The random numbers of one trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from dml.seeding import derive, generator


class RandomStreams:
    """One generator for each purpose, and the trial's own global random state (initial weights, dropout).

    Parameters
    ----------
    seed : of the trial.
    rank : of this process among those that share the trial; each augments its images with its own stream. That of the
        first one is saved; those of the others begin anew at each step, so that a resumed trial need not know them.
    device : of the generators.
    """

    def __init__(self, seed: int, rank: int, device: torch.device):
        self.miner = generator(seed, "miner", device)
        self.augment = generator(seed, f"augment/{rank}", device)
        self._seed, self._rank, self._device = seed, rank, device
        self._global: list[Tensor] = []  # states of torch's global generators: the CPU's, and the trial's GPU's

    @contextmanager
    def as_global(self) -> Iterator[None]:
        """Run a block with the trial's global random state, then restore the caller's."""
        cuda = self._device.type == "cuda"
        with torch.random.fork_rng(devices=[self._device] if cuda else []):
            if not self._global:
                torch.manual_seed(derive(self._seed, "init"))
            else:
                torch.set_rng_state(self._global[0])
                if cuda:
                    torch.cuda.set_rng_state(self._global[1], self._device)
            yield
            self._global = [torch.get_rng_state(), *([torch.cuda.get_rng_state(self._device)] if cuda else [])]

    def begin_step(self, step: int) -> None:
        """Begin the augmentation stream of this step, in every process but the first."""
        if self._rank:
            self.augment = generator(self._seed, f"augment/{self._rank}/{step}", self._device)

    def state_dict(self) -> dict[str, Any]:
        """The states of all generators."""
        return {"miner": self.miner.get_state(), "augment": self.augment.get_state(), "global": self._global}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken."""
        self.miner.set_state(state["miner"].cpu())
        self.augment.set_state(state["augment"].cpu())
        self._global = state["global"]
