"""Choosing tuples: embeddings and labels -> `Tuples` (or `Pairs`).

A miner combines a positive policy (`positives/<name>.py`) with a negative policy (`negatives/<name>.py`); every pair
of policies works.

    mine = dml.miners.build(positives="easy", negatives="semihard_random", margin=0.2)
    tuples = mine(embeddings, labels, generator=generator)
    mine = dml.miners.PolicyMiner(dml.miners.positives.Easy(), dml.miners.negatives.SemihardRandom(margin=0.2))

A new policy is one file with one class: see `PositivePolicy` and `NegativePolicy` in `dml.protocols`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from dml import discovery
from dml.miners import negatives, positives
from dml.miners._batch import MinerBatch
from dml.miners._distances import PairDistances
from dml.miners.mine import PolicyMiner
from dml.protocols import Miner
from dml.settings import Shown
from dml.tensors import checked_labels, checked_rows
from dml.types import Tuples


class ForeignMiner(Shown):
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

    @torch.no_grad()
    def __call__(
        self, embeddings: Tensor, labels: Tensor, generator: torch.Generator | None = None, truth: Tensor | None = None
    ) -> Tuples | tuple[Tensor, ...]:
        """Embeddings (N, D), labels (N,) -> Tuples if the miner returns three tensors, else its four tensors.

        `truth` (N,) are the true labels, for a miner that takes them. Raises ValueError: embeddings that are not float
        (N, D), labels that are not integers (N,); or the miner returned something else.
        """
        labels = checked_labels(embeddings, labels)
        x = embeddings.detach()
        x = x if x.dtype == torch.float64 else x.float()
        given = (x, labels) if truth is None else (x, labels, truth)
        with torch.autocast(x.device.type, enabled=False):
            tuples = self.miner(*given) if generator is None else self._seeded(given, generator)
        if not isinstance(tuples, tuple | list) or len(tuples) not in (3, 4):
            kind = f"{len(tuples)}" if isinstance(tuples, tuple | list) else type(tuples).__name__
            raise ValueError(f"{type(self.miner).__name__}: expected 3 or 4 tensors of indices, got {kind}")
        used = torch.zeros(len(x), dtype=torch.bool, device=tuples[0].device)
        for lists in [tuples] if len(tuples) == 3 else [tuples[:2], tuples[2:]]:
            used[checked_rows(len(x), used.device, *lists)[0]] = True
        self.stats = {"tuples": torch.tensor(max(map(len, tuples))), "dropped_anchors": (~used).sum()}
        return Tuples(*tuples) if len(tuples) == 3 else tuple(tuples)

    def _seeded(self, given: tuple[Tensor, ...], generator: torch.Generator) -> Any:
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        devices = [given[0].device] if given[0].device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.default_generator.manual_seed(seed)
            for device in devices:
                with torch.cuda.device(device):
                    torch.cuda.manual_seed(seed)
            return self.miner(*given)


POLICIES = {"positives": "dml.miners.positives", "negatives": "dml.miners.negatives"}


def build(name: str | None = None, /, **settings: Any) -> Miner:
    """A miner from the names of its two policies, or another package's miner by its dotted path.

    Parameters
    ----------
    name : a dotted path such as `"pytorch_metric_learning.miners.MultiSimilarityMiner"`, which takes all `settings`.
        Without it, `dml`'s own miner is built, and the settings are:
    positives, negatives : names of policies, or dotted paths to them.
    others : those of `PolicyMiner` (`normalize`, `distance`, `padded`, `max_per_class`) and of the policies (`margin`,
        `epsilon`, ...). A setting that only other policies take has no effect: a study has one set for all its pairs.

    Raises
    ------
    ValueError : an unknown policy, setting or value; the message lists the choices.
    """
    if name is not None:
        if not discovery.is_foreign(name):
            choices = "; ".join(f"{axis} ({', '.join(discovery.names(POLICIES[axis]))})" for axis in POLICIES)
            raise ValueError(f"miners: expected a dotted path to a class, got {name!r}. Own policies: {choices}")
        return ForeignMiner(discovery.build("dml.miners", name, **settings))
    chosen = {axis: settings.pop(axis, None) for axis in POLICIES}
    for axis, policy in chosen.items():
        if not isinstance(policy, str):
            choices = ", ".join(discovery.names(POLICIES[axis]))
            raise ValueError(f"miners: expected the name of a policy for {axis!r}, got {policy!r}. Choices: {choices}")
    parts = {axis: discovery.find(POLICIES[axis], policy) for axis, policy in chosen.items()}
    accepted = accepted_settings(**{axis: [policy] for axis, policy in chosen.items()})
    for key in settings.keys() - accepted:
        raise ValueError(f"miners: unknown setting {key!r}{discovery.suggestion(key, sorted(accepted))}")
    policies = {axis: part(**discovery.accepted(part, settings)) for axis, part in parts.items()}
    return PolicyMiner(**policies, **discovery.accepted(PolicyMiner, settings))


def accepted_settings(positives: Iterable[str] = (), negatives: Iterable[str] = ()) -> set[str]:
    """The settings that a study may give its miners: those of `PolicyMiner` and of every policy of `dml`.

    `positives`, `negatives`: policies of the study; those of other packages add their settings.
    """
    policies = [(package, name) for package in POLICIES.values() for name in discovery.names(package)]
    policies += [(POLICIES["positives"], name) for name in positives]
    policies += [(POLICIES["negatives"], name) for name in negatives]
    return set(_defaults_of_miner()).union(*(discovery.settings_of(discovery.find(*policy)) for policy in policies))


def settings_of_pair(positives: str, negatives: str) -> set[str]:
    """The settings that have an effect on one pair of policies."""
    parts = [discovery.find(POLICIES["positives"], positives), discovery.find(POLICIES["negatives"], negatives)]
    return set(_defaults_of_miner()).union(*map(discovery.settings_of, parts))


def _defaults_of_miner() -> dict[str, Any]:
    return {name: value for name, value in discovery.defaults_of(PolicyMiner).items() if name not in POLICIES}


__all__ = [
    "ForeignMiner",
    "MinerBatch",
    "PairDistances",
    "PolicyMiner",
    "accepted_settings",
    "build",
    "negatives",
    "positives",
    "settings_of_pair",
]
