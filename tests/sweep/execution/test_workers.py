"""Trials that workers on several nodes share: a real Ray cluster of node processes, Ray Train, and gloo."""

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import driver
import numpy as np
import pandas as pd
import pytest
from real import alive
from stages import prepare

from dml.sweep.execution import rendezvous
from dml.sweep.execution.trial_run import training
from dml.sweep.plan import specs
from dml.sweep.run import run_study
from dml.training import data as trial_data

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(900)]

STUDY = {
    "losses": [{"name": "contrastive", "positives": ["all"], "negatives": ["all"]}],
    "positives": [],
    "negatives": [],
    "seeds": [0],
    "search": {"sampler": "fixed"},
    "datasets": [{"name": "digits", "train_on": "coarse", "evaluate_on": ["fine"]}],
    "evaluation": {"metrics": ["recall@1"], "every": 10, "sets": ["test"], "keep_embeddings": True},
}


@pytest.fixture(scope="module")
def cluster():
    """A head without processors, and two nodes with two each."""
    import ray
    from ray.cluster_utils import Cluster

    from dml.sweep.execution.cluster import QUIET, connect

    os.environ.update(QUIET)
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        for _ in range(2):
            found.add_node(num_cpus=2)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAY_ADDRESS", found.address)
            connect()
            yield found
    finally:
        ray.shutdown()
        found.shutdown()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The data stages' outputs."""
    root = tmp_path_factory.mktemp("data")
    prepare(root, seeds=(0, 1, 2))
    return root


class Place:
    """Runs a study on the cluster, and reads what its ranks noted."""

    def __init__(self, folder: Path, data: Path):
        self.folder, self._data = folder, data
        self.orders()

    def orders(self, **orders) -> None:
        (self.folder / "new.json").write_text(json.dumps(orders))
        (self.folder / "new.json").replace(self.folder / "orders.json")  # ranks never read half of it

    def study(self, workers: int, steps: int = 20, resources=None, **changes):
        training = {
            "backbone": {"name": "rank_parts.Backbone", "settings": {"folder": str(self.folder)}},
            "embedding_size": 8,
            "optimizer": "sgd",  # Adam divides gradients by their size, so it also enlarges rounding
            "learning_rate": 0.01,
            "steps": steps,
            "batch": {"classes": 2, "per_class": 12},
            "workers": workers,
        }
        return driver.study(**{**STUDY, "training": training, "resources": resources or {}, **changes})

    def sweep(self, workers: int, **changes) -> pd.DataFrame:
        study = self.study(workers, **changes)
        frame = run_study(study, self._data, self.folder / "store", self.folder / "out")
        wait(lambda: not any(map(alive, self.pids())), 20)  # killed ranks need a moment on a busy machine
        frame.attrs["ended"] = time.time()
        return frame

    def alone(self, seed: int = 0, **changes):
        """The same trial in this process, uninterrupted."""
        self.orders()
        study = self.study(1, **{**changes, "resources": None})
        cell = study.cells()[0]
        digests = trial_data.describe(self._data, "digits", "uniform", 0.0, seed, "confirm")
        spec = specs.build(study, cell, "confirm", seed, {}, digests)
        trainer = training(spec, self._data, self.folder / "alone" / str(seed), "cpu")
        while not trainer.finished:
            trainer.advance()
        trainer.close()
        return trainer.result(), _embeddings(self.folder / "alone" / str(seed))

    def lines(self) -> list[list[str]]:
        """[rank, size, pid, node, step] of each step that a rank of several took."""
        path = self.folder / "steps.log"
        found = [line.split() for line in path.read_text().splitlines()] if path.is_file() else []
        return [line for line in found if line[1] != "1"]

    def pids(self) -> set[int]:
        return {int(line[2]) for line in self.lines()}

    def equal(self, row, alone) -> None:
        """A trial's stored outcome is that of one process, but for the rounding of sums in another order."""
        result, embeddings = alone
        assert row["status"] == "finished", row["error"]
        for (step, scores), point in zip(json.loads(row["curve"]), result.curve, strict=True):
            assert step == point.step
            assert scores == pytest.approx(point.scores, rel=1e-6)
        assert json.loads(row["diagnostics"])["loss"] == pytest.approx(result.diagnostics["loss"], rel=1e-5)
        np.testing.assert_allclose(
            _embeddings(self.folder / "store/trials" / row["key"]), embeddings, rtol=0, atol=1e-4
        )


def _embeddings(folder: Path) -> np.ndarray:
    with np.load(folder / "embeddings.npz") as saved:
        return saved["embeddings"]


@pytest.fixture
def place(tmp_path, data, cluster):
    import ray

    yield Place(tmp_path, data)
    wait(lambda: ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"])  # no place is left taken


def wait(condition, seconds: float = 120.0):
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)
    return found


def test_a_kill_and_an_error_on_one_rank_of_four(place):
    """Of one trial a rank is killed, in the next one a rank raises an error."""
    place.orders(die=[1, 15], **{"raise": [1, 25]})
    resources = {"storage": f"file://{place.folder}/away"}
    frame = place.sweep(4, seeds=[0, 1], resources=resources)
    lines = place.lines()
    assert {line[0] for line in lines} == {"0", "1", "2", "3"}
    assert len({line[3] for line in lines}) == 2, "two nodes"
    assert len(place.pids()) == 8, "the second trial runs in the processes of the first one, which was killed once"
    assert json.loads((place.folder / "out/summary.json").read_text())["resumed"] == 1

    error = frame["error"][1]
    assert frame["status"][1] == "failed"
    assert "on rank 1" in error
    assert "KeyError: 'a part that is broken on one rank'" in error
    assert "rank_parts.py" in error, "no traceback"
    raised = float((place.folder / "raised").read_text())
    assert frame.attrs["ended"] - raised < 30, "the others wait for rank 1 until they are ended"

    place.equal(frame.iloc[0], place.alone())
    shutil.rmtree(place.folder / "store")
    again = place.sweep(4, resources=resources)
    pd.testing.assert_frame_equal(again, frame[:1], check_like=True)
    assert place.lines() == lines


def test_places_of_a_driver_that_died_are_freed(cluster):
    import ray
    from ray.util.placement_group import placement_group_table

    class Driver:
        """Takes places for two workers, as Ray Train's controller does for a trial's driver."""

        def take(self, worker):
            from ray.util.placement_group import placement_group

            return placement_group([worker, worker]).id.hex()

    worker, other = (rendezvous.of_sweep({"CPU": 1.0}, sweep) for sweep in ("this", "other"))
    names = ("dead", "alive")
    drivers = [ray.remote(num_cpus=0)(Driver).remote() for _ in names]
    groups = [ray.get(d.take.remote(rendezvous.marked(worker, name))) for d, name in zip(drivers, names, strict=True)]
    for actor in drivers:
        ray.kill(actor)
    time.sleep(1)
    assert all(placement_group_table()[group]["state"] == "CREATED" for group in groups), "Ray frees them itself now"
    rendezvous.free(worker, ["dead"])
    wait(lambda: placement_group_table()[groups[0]]["state"] == "REMOVED")
    assert placement_group_table()[groups[1]]["state"] == "CREATED"

    groups.append(ray.get(ray.remote(num_cpus=0)(Driver).remote().take.remote(rendezvous.marked(other, "alive"))))
    assert rendezvous.free(worker) == 1  # all of this sweep, without their names
    wait(lambda: placement_group_table()[groups[1]]["state"] == "REMOVED")
    assert placement_group_table()[groups[2]]["state"] != "REMOVED"
    assert rendezvous.free(other) == 1


def test_a_node_joins_late_and_dies_in_the_middle(place, cluster):
    """The sweep runs in a thread, since Ray starts nodes only from the main one."""
    place.orders(wait=15)
    with ThreadPoolExecutor(1) as pool:
        sweep = pool.submit(place.sweep, 6, steps=30)
        time.sleep(3)
        assert not place.lines(), "nothing runs before there is room"
        node = cluster.add_node(num_cpus=2)
        wait(lambda: sweep.done() or any(line[4] == "15" for line in place.lines()), 300)
        cluster.remove_node(node, allow_graceful=False)
        there = {int(line[2]) for line in place.lines() if line[3] == node.node_id}
        wait(lambda: not any(map(alive, there)))  # a node's processes outlive it for a moment, and would end the trial
        place.orders()
        cluster.add_node(num_cpus=2)
        frame = sweep.result(300)
    assert there, "no rank ran on the node"
    assert json.loads((place.folder / "out/summary.json").read_text())["resumed"] >= 1
    place.equal(frame.iloc[0], place.alone(steps=30))
