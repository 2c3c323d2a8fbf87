"""The cells of a study: every admissible combination of its axes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dml import discovery, losses, miners
from dml.config import closed_forms, vary
from dml.config.parts import LossSection, MinerSection
from dml.types import Cell, Part

if TYPE_CHECKING:
    from dml.config.study import Study

Policies = tuple[str | None, str | None]


def combinations(study: Study) -> Iterator[Cell]:
    """The cells in the study's order. A cell comes several times if it ignores a setting that varies."""
    variants = vary.combinations(study.axes)
    for dataset, noise, loss in itertools.product(study.datasets, study.noise, study.losses):
        for rate, varied in itertools.product(noise.rates, variants):
            of_loss = loss_settings(loss, varied)
            own = loss_with(loss, varied) if of_loss else loss
            part = own.part()
            part = Part(part.name, {k: v for k, v in part.settings.items() if k not in of_loss}, part.search)
            for positives, negatives in policies(study, own):
                miner = _foreign(study.miner) if own.uses_tuples else None
                if miner is not None:
                    positives = negatives = None
                taken = {"loss": of_loss, "miner": _miner_settings(study.miner, (positives, negatives), miner, varied)}
                kept = {
                    key: value
                    for key, value in varied.items()
                    if (room := key.partition(".")[0]) not in taken or key.partition(".")[2] in taken[room]
                    if closed_forms.takes(loss.name, key)
                }
                for section in study.filters:
                    chosen = section.part() if losses.closed_form_of(loss.name) is None else None
                    yield Cell(dataset.label, noise.label, rate, part, positives, negatives, miner, kept, chosen)


def policies(study: Study, loss: LossSection) -> list[Policies]:
    """The pairs of policies of one loss; one pair of None if it chooses no tuples."""
    positives, negatives = loss.positives or study.positives, loss.negatives or study.negatives
    if not loss.uses_tuples or not positives:
        return [(None, None)]
    return list(itertools.product(positives, negatives))


def loss_settings(loss: LossSection, varied: Mapping[str, Any]) -> dict[str, Any]:
    """What varies of one loss: the settings that it has."""
    return discovery.accepted(discovery.find("dml.losses", loss.name), vary.of("loss", varied))


def loss_with(loss: LossSection, varied: Mapping[str, Any]) -> LossSection:
    """A loss with what varies filled in; what varies is not searched."""
    own = loss_settings(loss, varied)
    search = None if loss.search is None else {k: v for k, v in loss.search.items() if k not in own}
    return vary.changed(loss, {"settings": {**loss.settings, **own}, "search": search})


def miner_with(miner: MinerSection, varied: Mapping[str, Any]) -> MinerSection:
    """The section `miner` with what varies filled in; what varies is not searched."""
    own = vary.of("miner", varied)
    if not own:
        return miner
    search = {k: v for k, v in miner.search.items() if k not in own}
    return vary.changed(miner, {"settings": {**miner.settings, **own}, "search": search})


def _miner_settings(
    miner: MinerSection, pair: Policies, foreign: Part | None, varied: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What varies of a cell's miner: the settings that it has."""
    asked = vary.of("miner", varied)
    if not asked:
        return {}
    if foreign is not None:
        return discovery.accepted(discovery.find("dml.miners", foreign.name), asked)
    positives, negatives = pair
    if positives is None or negatives is None:
        return {}
    taken = miners.settings_of_pair(positives, negatives)
    return {key: value for key, value in asked.items() if key in taken}


def _foreign(miner: MinerSection) -> Part | None:
    return Part(miner.name, dict(miner.settings), dict(miner.search)) if miner.name else None
