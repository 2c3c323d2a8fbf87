"""Choosing tuples: embeddings and labels -> `Tuples` (or `Pairs`).

A miner is a positive policy (`positives/<name>.py`) and a negative policy (`negatives/<name>.py`); any goes with any.

    mine = build(positives="easy", negatives="semihard_random", margin=0.2)
    tuples = mine(embeddings, labels, generator=generator)

A new policy is one file with one class; `_batch.py` says what it is given and what it returns.
"""

from __future__ import annotations

from typing import Any

from dml import discovery
from dml.miners._eta import NegativeDistances
from dml.miners._foreign import ForeignMiner
from dml.miners.mine import PolicyMiner

__all__ = ["ForeignMiner", "NegativeDistances", "PolicyMiner", "build"]

_PACKAGES = {"positives": "dml.miners.positives", "negatives": "dml.miners.negatives"}


def build(name: str | None = None, /, **settings: Any) -> PolicyMiner | ForeignMiner:
    """A miner from the names of its two policies, or another package's by its dotted path.

    Parameters
    ----------
    name : a dotted path such as `"pytorch_metric_learning.miners.MultiSimilarityMiner"`, which takes `settings` as its
        own; left out for `dml`'s own miners, whose settings are:
    positives : all, random, easy, semihard, hard or multi_similarity.
    negatives : all, random, distance_weighted, semihard_random, semihard_fixed, hard or multi_similarity.
    margin (0.2), window (False) : of semihard_random.
    epsilon (0.1) : of multi_similarity.
    cutoff (0.5), max_distance (1.4) : of distance_weighted.
    normalize (True), distance ("euclidean"), padded (False), max_per_class (None) : see `PolicyMiner`.
        A setting that the chosen policies do not take, but others do, has no effect: a study has one set for all pairs.

    Raises
    ------
    ValueError : an unknown policy, setting or value; the message lists the choices.
    """
    if name is not None:
        if "." not in name:
            raise ValueError(
                f"miners: expected a dotted path to a class, got {name!r}; dml's own miners are built from positives "
                f"({', '.join(discovery.names(_PACKAGES['positives']))}) and negatives "
                f"({', '.join(discovery.names(_PACKAGES['negatives']))})"
            )
        return ForeignMiner(discovery.build("dml.miners", name, **settings))
    for axis, package in _PACKAGES.items():
        if not isinstance(settings.get(axis), str):
            raise ValueError(
                f"miners: expected the name of a policy for {axis!r}, got {settings.get(axis)!r}. "
                f"Choices: {', '.join(discovery.names(package))}"
            )
    parts = {axis: discovery.find(package, settings.pop(axis)) for axis, package in _PACKAGES.items()}
    own = set(discovery.settings_of(PolicyMiner)) - set(_PACKAGES)
    known = own.union(*(_settings(part) for part in parts.values()))
    for package in _PACKAGES.values():
        known.update(*(_settings(discovery.find(package, policy)) for policy in discovery.names(package)))
    for key in settings:
        if key not in known:
            raise ValueError(f"miners: unknown setting {key!r}{discovery.suggestion(key, sorted(known))}")
    policies = {
        axis: part(**{key: value for key, value in settings.items() if key in _settings(part)})
        for axis, part in parts.items()
    }
    return PolicyMiner(**policies, **{key: value for key, value in settings.items() if key in own})


def _settings(part: type) -> set[str]:
    """The settings of a policy's own constructor (one without has none)."""
    return set(discovery.settings_of(part)) if "__init__" in vars(part) else set()
