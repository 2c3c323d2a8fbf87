"""Trains the networks of an audit: on Ray's workers, as trials are, or one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dml.config import ResourcesSection
from dml.sweep.auditing.fold_training import FoldTraining
from dml.sweep.execution import cluster
from dml.sweep.execution.tasks import in_workers

Run = Callable[[Sequence[FoldTraining]], Iterator[None]]
"""Trains networks, here or in other processes; the caller can look at their progress between two parts."""


def in_process(works: Sequence[FoldTraining]) -> Iterator[None]:
    """Train networks one after another in this process."""
    for work in works:
        yield from work.parts()


def over_ray(resources: ResourcesSection) -> Run:
    """A function that trains networks on Ray's workers, with a trial's resources each; a single one in this process.

    On a cluster the folder `store` must be one that all nodes share.
    """

    def run(works: Sequence[FoldTraining]) -> Iterator[None]:
        alone = resources.concurrent == 1 or cluster.cpus() < 2 * resources.cpus_per_trial
        if len(works) < 2 or (alone and cluster.address(resources) is None):
            yield from in_process(works)
            return
        for _ in in_workers(resources, FoldTraining.train, [(work,) for work in works]):
            yield

    return run
