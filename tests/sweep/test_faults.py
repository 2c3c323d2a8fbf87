"""Processes that are killed and disks that are full. Each fault is a real one."""

import json
import os
import re
import signal
import subprocess

import pandas as pd
import pytest
from checking import check
from real import alive, training_worker

ONE = {"search": {"sampler": "fixed"}, "seeds": [0]}  # trial for each loss
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_worker_is_killed_in_mid_epoch(workplace):
    workplace.orders(seconds=0.2, checkpoint_each_step=True)
    process = workplace.start()
    os.kill(workplace.wait(lambda: training_worker(workplace)), signal.SIGKILL)
    text, _ = process.communicate(timeout=200)
    assert process.returncode == 0, text
    check(workplace)
    assert json.loads((workplace.folder / "out" / "summary.json").read_text())["resumed"] == 1
    assert any("resume" in line for line in workplace.log())


def test_a_worker_that_always_dies_fails_its_trial_alone(workplace):
    workplace.orders(orders={"triplet": "die"})
    text = workplace.sweep(**ONE)
    frame = pd.read_parquet(workplace.folder / "out" / "trials.parquet")
    assert set(frame.loc[frame["loss"] == "contrastive", "status"]) == {"finished"}
    failed = frame[frame["loss"] == "triplet"]
    assert set(failed["status"]) == {"failed"}
    assert failed["error"].str.contains("died too often").all(), text


def test_a_worker_dies_while_it_takes_its_next_trial(workplace):
    """Ray Tune mostly sees the worker's death first, and resumes. `test_search.py` has what it does if it does not."""
    workplace.orders(die_closing="triplet")
    workplace.sweep(**{**ONE, "seeds": [0, 1, 2]})
    assert json.loads((workplace.folder / "out" / "summary.json").read_text())["resumed"] >= 1
    check(workplace, **{**ONE, "seeds": [0, 1, 2]})


def test_the_driver_is_killed_twice(workplace):
    uri = f"sqlite:///{workplace.folder / 'mlflow.db'}"
    workplace.orders(seconds=0.05)
    for some in (2, 6):
        process = workplace.start(tracking=uri, own_ray=True)
        workplace.wait(lambda some=some: len(workplace.results()) >= some)
        before = workplace.results()
        seen = len(workplace.log())  # a trial cut short by the first kill may rightly begin again after it
        process.kill()
        process.wait()
    text = workplace.sweep(tracking=uri)
    assert before <= workplace.results()
    assert "already done" in text
    check(workplace, uri)
    begun = {line.split()[1].rsplit("-", 1)[1] for line in workplace.log()[seen:] if line.endswith("begin")}
    assert begun
    assert not begun & {key[:8] for key in before}


def test_ctrl_c_ends_in_order_and_resumes(workplace):
    workplace.orders(seconds=0.3, checkpoint_each_step=True)
    process = workplace.start(own_ray=True)
    worker = workplace.wait(lambda: training_worker(workplace))
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    text, _ = process.communicate(timeout=60)
    assert process.returncode not in (0, -signal.SIGINT), text
    assert "interrupted" in text
    assert "stored" in text
    assert "Traceback" not in text
    workplace.wait(lambda: not alive(worker), seconds=10)
    assert not (workplace.folder / "out" / "trials.parquet").exists()
    workplace.orders()
    workplace.sweep()
    check(workplace)


def test_a_node_of_the_cluster_dies(workplace):
    from ray.cluster_utils import Cluster

    workplace.orders(seconds=0.3, checkpoint_each_step=True)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        process = workplace.start({"RAY_ADDRESS": cluster.address}, resources={"concurrent": 2})
        workplace.wait(lambda: len({line.split()[0] for line in workplace.log()}) == 2, seconds=120)
        workplace.wait(lambda: training_worker(workplace))
        cluster.remove_node(nodes[0], allow_graceful=False)
        text, _ = process.communicate(timeout=200)
        assert process.returncode == 0, text
    finally:
        cluster.shutdown()
    check(workplace)
    assert json.loads((workplace.folder / "out" / "summary.json").read_text())["resumed"] >= 1


def test_a_trial_that_raises_or_yields_nan_fails_alone(workplace):
    workplace.orders(orders={"triplet": "raise", "contrastive": "nan"})
    losses = ["triplet", "contrastive", "multi_similarity"]
    workplace.sweep(losses=losses, **ONE)
    frame = pd.read_parquet(workplace.folder / "out" / "trials.parquet")
    status = frame.groupby("loss")["status"].unique().map(list).to_dict()
    assert status == {"triplet": ["failed"], "contrastive": ["failed"], "multi_similarity": ["finished"]}
    for loss, said in (("triplet", "KeyError: 'a part that is broken'"), ("contrastive", "the loss became NaN")):
        errors = frame.loc[frame["loss"] == loss, "error"]
        assert len(errors) == 1
        assert errors.str.contains(said, regex=False).all()
        assert errors.str.contains("toy.py").all(), "no traceback"
    before = len(workplace.log())
    workplace.orders()
    workplace.sweep(losses=losses, **ONE)
    again = {line.split()[1].split("-")[0] for line in workplace.log()[before:]}
    assert again == {"triplet"}, "an error in the code is tried again, a result of the settings is not"


def test_a_trial_finds_the_disk_full(workplace):
    workplace.orders(orders={"contrastive": "full"})
    process = workplace.start()
    text, _ = process.communicate(timeout=200)
    assert process.returncode != 0
    assert re.search(r"No space left on device: '/\S+/checkpoint/state\.json \(node \S+\)'", text), text
    assert "Traceback" not in text
    (workplace.folder / "freed").touch()
    workplace.sweep()
    check(workplace)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small file system")
def test_the_stores_disk_is_full(workplace):
    store = workplace.folder / "store"
    store.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", store], check=False)
    if mounted.returncode:
        pytest.skip("cannot mount a file system here")
    try:
        workplace.orders(seconds=0.05)
        process = workplace.start()
        workplace.wait(lambda: len(workplace.results()) >= 3)
        before = workplace.results()
        ballast = store / "ballast"
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        text, _ = process.communicate(timeout=100)
        assert process.returncode != 0
        assert "No space left on device" in text
        ballast.unlink()
        assert before <= workplace.results()
        workplace.sweep()
        check(workplace)
    finally:
        workplace.end()
        subprocess.run(["umount", "-l", store], check=True)
