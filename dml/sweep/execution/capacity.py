"""How many trials fit on the nodes of a cluster or on this machine, and what is missing if none does.

The workers of one trial may be on several nodes. Ray reserves their places together (a placement group), so two trials
never wait for each other with half of their workers each.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from dml.config import ResourcesSection
from dml.sweep.execution import cluster

QUEUED = 16  # trials of one process that may wait in a cluster for a node
REFRESH_SECONDS = 5.0  # between two counts of the cluster's nodes

Node = Mapping[str, float]
"""What a node has, by Ray's names: CPU, GPU, ..."""


def fits(resources: ResourcesSection, workers: int, nodes: Sequence[Node]) -> int:
    """How many trials of so many workers fit on the nodes at once."""
    return _places(resources.worker(workers), nodes) // workers


def check_machine(resources: ResourcesSection, workers: int) -> None:
    """Check that a trial fits on this machine, before Ray starts. A cluster is checked only once it is connected.

    Raises
    ------
    ValueError : a trial needs more than this machine has.
    """
    import torch

    here = {"CPU": cluster.cpus(), "GPU": torch.cuda.device_count()}
    if cluster.address(resources) is None and not fits(resources, workers, [here]):
        hint = "A cluster may have more: resources.address, or RAY_ADDRESS"
        if resources.gpus_per_trial and not here["GPU"] and workers == 1:
            hint += "; gpus_per_trial: 0, in a study that extends this one, trains on processors"
        raise ValueError(f"{_missing(resources, workers, [here])} (this machine). {hint}")


def _places(worker: Mapping[str, float], nodes: Sequence[Node]) -> int:
    """How many workers fit on the nodes at once."""
    needed = {name: amount for name, amount in worker.items() if amount}
    return sum(min(int(node.get(name, 0) / own + 1e-9) for name, own in needed.items()) for node in nodes)


def _missing(resources: ResourcesSection, workers: int, nodes: Sequence[Node]) -> str:
    """What a trial takes and what there is, as text."""
    if workers == 1 and resources.resources_per_worker is None:
        asked = (
            f"a trial takes cpus_per_trial {resources.cpus_per_trial:g} and gpus_per_trial "
            f"{resources.gpus_per_trial:g}, but no node has as much"
        )
    else:
        each = " and ".join(f"{own:g} {name}" for name, own in resources.worker(workers).items() if own)
        room = _places(resources.worker(workers), nodes)
        asked = f"a trial takes {workers} workers (training.workers) of {each} each, but there is room for {room}"
    kinds = Counter(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
    existing = ", ".join(kind if count == 1 else f"{count} times {kind}" for kind, count in kinds.items())
    return f"{asked}. Nodes: {existing or 'none'}"


class Room:
    """Counts the trials that fit on the nodes, which come and go.

    Parameters
    ----------
    workers : of each trial.
    """

    def __init__(self, resources: ResourcesSection, workers: int = 1):
        self._resources, self._workers = resources, workers
        self._nodes: list[Node] = []
        self._asked = -REFRESH_SECONDS
        self._fitted = time.monotonic()  # when a trial fitted last

    def __call__(self) -> int:
        """How many trials to give to Ray now.

        On this machine as many as fit. On a cluster `QUEUED` more, which make an autoscaler add nodes; but not of
        those that share workers, since a trial that waits would hold processes that others could use again.
        """
        queued = QUEUED if self._workers == 1 and cluster.address(self._resources) else 0
        known = max(1, self.fits() + queued)
        return min(known, self._resources.concurrent or known)

    def problem(self) -> str | None:
        """What is missing, once no trial has fitted for `resources.wait_minutes`."""
        if self.fits() or time.monotonic() - self._fitted < 60 * self._resources.wait_minutes:
            return None
        waited = f"waited for {self._resources.wait_minutes:g} min (resources.wait_minutes)"
        return f"resources: {_missing(self._resources, self._workers, self._nodes)}; {waited}"

    def check(self) -> None:
        """Check that a trial fits. On a cluster, which may still grow, only print a message.

        Raises
        ------
        ValueError : a trial needs more than this machine has.
        """
        if self.fits():
            return
        text = f"resources: {_missing(self._resources, self._workers, self._nodes)}"
        if cluster.address(self._resources) is None:
            raise ValueError(text)
        print(f"{text}. Waiting for nodes, {self._resources.wait_minutes:g} min at most.", flush=True)

    def gpus(self, running: int) -> str:
        """Text such as `1.5 of 2 GPUs taken`, for so many running trials; empty without GPUs."""
        own = self._resources.worker(self._workers).get("GPU", 0) * self._workers
        if not own:
            return ""
        self.fits()
        return f"{running * own:g} of {sum(node.get('GPU', 0) for node in self._nodes):g} GPUs taken"

    def fits(self) -> int:
        """How many trials fit on the nodes that are there."""
        import ray

        if time.monotonic() - self._asked > REFRESH_SECONDS:
            self._asked = time.monotonic()
            self._nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        found = fits(self._resources, self._workers, self._nodes)
        if found:
            self._fitted = time.monotonic()
        return found
