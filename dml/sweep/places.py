"""Frees the places of workers whose trial's driver died.

Ray removes a placement group with the job that made it, not with the actor. Ray Train has an actor that removes those
of a driver that died, but that asks Ray's dashboard, which is not always there. So each worker's bundle of resources is
marked with some bytes of memory that depend on the driver, and the sweep removes the groups with a dead driver's mark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

MEMORY = "memory"  # Ray's name


def marked(worker: Mapping[str, float], driver: str) -> dict[str, float]:
    """What each worker takes, with the mark of a driver: at most a MiB of memory more.

    Parameters
    ----------
    worker : by Ray's names.
    driver : the actor's id.
    """
    mark = 1 + int(hashlib.sha256(driver.encode()).hexdigest()[:5], 16)
    own = {name: amount for name, amount in worker.items() if amount}
    return {**own, MEMORY: own.get(MEMORY, 0) + mark}


def free(worker: Mapping[str, float], drivers: Iterable[str]) -> int:
    """Remove the placement groups of dead drivers; `worker` and the ids are as in `marked`. Returns how many."""
    marks = {marked(worker, driver)[MEMORY] for driver in drivers}
    if not marks:
        return 0
    import ray
    from ray.util.placement_group import PlacementGroup, placement_group_table, remove_placement_group

    taken = [
        PlacementGroup(ray.PlacementGroupID(bytes.fromhex(name)))
        for name, group in placement_group_table().items()
        if group["state"] != "REMOVED" and any(bundle.get(MEMORY) in marks for bundle in group["bundles"].values())
    ]
    for group in taken:
        remove_placement_group(group)
    return len(taken)
