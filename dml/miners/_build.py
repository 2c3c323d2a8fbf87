"""Miners by the names of their policies, and the settings that policies take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dml import discovery
from dml.miners._foreign import ForeignMiner
from dml.miners.mine import PolicyMiner
from dml.protocols import Miner

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
    known = known_settings(**{axis: [policy] for axis, policy in chosen.items()})
    for key in settings:
        if key not in known:
            raise ValueError(f"miners: unknown setting {key!r}{discovery.suggestion(key, sorted(known))}")
    policies = {axis: part(**discovery.accepted(part, settings)) for axis, part in parts.items()}
    return PolicyMiner(**policies, **discovery.accepted(PolicyMiner, settings))


def known_settings(positives: Iterable[str] = (), negatives: Iterable[str] = ()) -> set[str]:
    """The settings that a study may give its miners: those of `PolicyMiner` and of every policy of `dml`.

    Parameters
    ----------
    positives, negatives : policies of the study; those of other packages add their settings.
    """
    known = set(_defaults_of_miner())
    for package, given in zip(POLICIES.values(), (positives, negatives), strict=True):
        for policy in {*discovery.names(package), *given}:
            known |= set(discovery.settings_of(discovery.find(package, policy)))
    return known


def settings_of_pair(positives: str, negatives: str) -> set[str]:
    """The settings that have an effect on one pair of policies."""
    parts = [discovery.find(POLICIES["positives"], positives), discovery.find(POLICIES["negatives"], negatives)]
    return set(_defaults_of_miner()).union(*map(discovery.settings_of, parts))


def _defaults_of_miner() -> dict[str, Any]:
    return {name: value for name, value in discovery.defaults_of(PolicyMiner).items() if name not in POLICIES}
