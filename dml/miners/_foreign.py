"""A miner of another package, called like one of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dml.tensors import checked_labels, checked_rows
from dml.types import Tuples


class ForeignMiner:
    """Calls `miner(embeddings, labels)` on detached float32 embeddings. Torch's global random state does not change.

    Parameters
    ----------
    miner : called like pytorch-metric-learning's miners; returns 3 tensors (a, p, n) or 4 (a, p, a, n). It draws from
        torch's default generators, which are seeded from the given generator for the call. With an attribute
        `takes_truth = True` it is given the true labels too, as a third argument.

    Attributes
    ----------
    stats : of the last call, 0-d int64 tensors: `tuples` (length of the longest tensor), `dropped_anchors` (samples
        that are no tuple's anchor).
    """

    def __init__(self, miner: Callable[[Tensor, Tensor], Any]) -> None:
        self.miner = miner
        self.takes_truth = bool(getattr(miner, "takes_truth", False))
        self.stats: Mapping[str, Tensor] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.miner!r})"

    @torch.no_grad()
    def __call__(
        self,
        embeddings: Tensor,
        labels: Tensor,
        generator: torch.Generator | None = None,
        truth: Tensor | None = None,
    ) -> Tuples | tuple[Tensor, ...]:
        """Embeddings (N, D), labels (N,) -> Tuples if the miner returns three tensors, else its four tensors.

        `truth` (N,) are the true labels, for a miner that takes them.

        Raises
        ------
        ValueError : embeddings that are not float (N, D), labels that are not integers (N,); or the miner returned
            something else.
        """
        labels = checked_labels(embeddings, labels)
        x = embeddings.detach()
        x = x if x.dtype == torch.float64 else x.float()
        given = (x, labels) if truth is None else (x, labels, truth)
        with torch.autocast(x.device.type, enabled=False):
            found = self.miner(*given) if generator is None else self._seeded(given, generator)
        if not isinstance(found, tuple | list) or len(found) not in (3, 4):
            kind = f"{len(found)}" if isinstance(found, tuple | list) else type(found).__name__
            raise ValueError(f"{type(self.miner).__name__}: expected 3 or 4 tensors of indices, got {kind}")
        lists = [found] if len(found) == 3 else [found[:2], found[2:]]
        used = torch.zeros(len(x), dtype=torch.bool, device=found[0].device)
        for listed in lists:
            used[checked_rows(len(x), used.device, *listed)[0]] = True
        self.stats = {
            "tuples": torch.tensor(max(len(column) for column in found)),
            "dropped_anchors": (~used).sum(),
        }
        return Tuples(*found) if len(found) == 3 else tuple(found)

    def _seeded(self, given: tuple[Tensor, ...], generator: torch.Generator) -> Any:
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        devices = [given[0].device] if given[0].device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.default_generator.manual_seed(seed)
            for device in devices:
                with torch.cuda.device(device):
                    torch.cuda.manual_seed(seed)
            return self.miner(*given)
