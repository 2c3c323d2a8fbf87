"""What a cell takes of what varies: the settings that its loss and its miner have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dml
from dml import discovery
from dml.config import grid
from dml.config.parts import LossSection, MinerSection
from dml.types import Part


def loss_settings(loss: LossSection, grid_point: Mapping[str, Any]) -> dict[str, Any]:
    """What varies of one loss: the settings that it has."""
    return discovery.accepted(discovery.find("dml.losses", loss.name), grid.of("loss", grid_point))


def loss_with(loss: LossSection, grid_point: Mapping[str, Any]) -> LossSection:
    """A loss with what varies filled in; what varies is not searched."""
    own = loss_settings(loss, grid_point)
    search = None if loss.search is None else {k: v for k, v in loss.search.items() if k not in own}
    return grid.changed(loss, {"settings": {**loss.settings, **own}, "search": search})


def miner_with(miner: MinerSection, grid_point: Mapping[str, Any]) -> MinerSection:
    """The section `miner` with what varies filled in; what varies is not searched."""
    own = grid.of("miner", grid_point)
    if not own:
        return miner
    search = {k: v for k, v in miner.search.items() if k not in own}
    return grid.changed(miner, {"settings": {**miner.settings, **own}, "search": search})


def miner_settings(
    positives: str | None, negatives: str | None, foreign: Part | None, grid_point: Mapping[str, Any]
) -> Mapping[str, Any]:
    """What varies of a cell's miner, two policies or one of another package: the settings that it has."""
    asked = grid.of("miner", grid_point)
    if not asked:
        return {}
    if foreign is not None:
        return discovery.accepted(discovery.find("dml.miners", foreign.name), asked)
    if positives is None or negatives is None:
        return {}
    taken = dml.miners.settings_of_pair(positives, negatives)
    return {key: value for key, value in asked.items() if key in taken}


def foreign_miner(miner: MinerSection) -> Part | None:
    """The miner of another package that a study names."""
    return Part(miner.name, dict(miner.settings), dict(miner.search)) if miner.name else None
