"""Frees the places of workers whose trial's driver died, and of all drivers of a sweep that ended.

Ray removes a placement group with the job that made it, not with the actor. Ray Train has an actor that removes those
of a driver that died, but that asks Ray's dashboard, which is not always there. So each worker's bundle of resources is
marked with some bytes of memory that depend on the sweep and on the driver, and the sweep removes the groups with the
mark of a dead driver. At its end it removes all of its own: also of a driver that it never met, since that was stopped
while it started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

MEMORY = "memory"  # Ray's name
DRIVERS = 4096  # marks of drivers
SWEEPS = 4096  # marks of sweeps, each of so many bytes


def of_sweep(worker: Mapping[str, float], sweep: str) -> dict[str, float]:
    """What each worker takes, with the mark of a sweep: at most 16 MiB of memory more.

    Parameters
    ----------
    worker : by Ray's names.
    sweep : an id.
    """
    return _more(worker, DRIVERS * _hash(sweep, SWEEPS))


def marked(worker: Mapping[str, float], driver: str) -> dict[str, float]:
    """What each worker takes, with the mark of a driver (the actor's id) too; `worker` has the sweep's."""
    return _more(worker, 1 + _hash(driver, DRIVERS - 1))


def free(worker: Mapping[str, float], drivers: Collection[str] | None = None) -> int:
    """Remove the placement groups of dead drivers, or of all drivers of the sweep. Returns how many.

    Parameters
    ----------
    worker : with the sweep's mark.
    drivers : the actors' ids; None: all.
    """
    import ray
    from ray.util.placement_group import PlacementGroup, placement_group_table, remove_placement_group

    first = worker.get(MEMORY, 0)
    marks = None if drivers is None else {marked(worker, driver)[MEMORY] - first for driver in drivers}

    def own(mark: float) -> bool:
        return 0 < mark < DRIVERS if marks is None else mark in marks

    taken = [
        PlacementGroup(ray.PlacementGroupID(bytes.fromhex(name)))
        for name, group in placement_group_table().items()
        if group["state"] != "REMOVED"
        and any(own(bundle.get(MEMORY, 0) - first) for bundle in group["bundles"].values())
    ]
    for group in taken:
        remove_placement_group(group)
    return len(taken)


def _more(worker: Mapping[str, float], memory: int) -> dict[str, float]:
    own = {name: amount for name, amount in worker.items() if amount}
    return {**own, MEMORY: own.get(MEMORY, 0) + memory}


def _hash(text: str, count: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) % count
