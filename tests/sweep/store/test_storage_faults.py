"""Sweeps with results in a real S3-compatible storage, which is killed, refuses, is slow, or is all that is left."""

from __future__ import annotations

import shutil

import pytest
import toy
from checking import check
from driver import study

from dml.sweep.store.trials import TrialStore
from dml.sweep.why import explain

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(300)]


@pytest.fixture
def storage(object_storage, request):
    """`resources.storage`: a folder of this test's own."""
    return f"{object_storage.bucket('sweeps')}/{request.node.name.replace('_', '-')}"


def outcomes(object_storage, storage):
    names = object_storage.names(storage.removeprefix("s3://"))
    return {name.split("/")[1] for name in names if name.endswith("/result.json")}


def test_the_storage_is_killed_and_comes_back(workplace, object_storage, storage):
    workplace.orders(seconds=0.05, checkpoint_each_step=True)
    process = workplace.start(object_storage.environment, own_ray=True, resources={"storage": storage})
    workplace.wait(lambda: len(outcomes(object_storage, storage)) >= 2, seconds=150)
    object_storage.kill()
    object_storage.start()
    text, _ = process.communicate(timeout=200)
    assert process.returncode == 0, text
    frame = check(workplace)
    assert outcomes(object_storage, storage) == set(frame["key"])


def test_it_stays_away_and_the_next_sweep_resumes(workplace, object_storage, storage):
    resources = {"storage": storage}
    workplace.orders(seconds=0.05, checkpoint_each_step=True)
    process = workplace.start(
        {**object_storage.environment, "DML_STORAGE_PATIENCE": "1"}, own_ray=True, resources=resources
    )
    workplace.wait(lambda: len(outcomes(object_storage, storage)) >= 2, seconds=150)
    object_storage.kill()
    text, _ = process.communicate(timeout=100)
    object_storage.start()
    assert process.returncode != 0
    assert text.count("error: ") == 1
    assert "it does not answer. Start it" in text
    assert "(node " in text
    assert "Traceback" not in text
    before, steps = workplace.results(), len(workplace.log())
    assert len(before) >= 2
    workplace.orders()
    again = workplace.sweep(object_storage.environment, own_ray=True, resources=resources)
    frame = check(workplace)
    assert outcomes(object_storage, storage) == set(frame["key"])
    begun = {line.split()[1].rsplit("-", 1)[1] for line in workplace.log()[steps:] if line.endswith("begin")}
    assert not begun & {key[:8] for key in before}, again


def test_another_machine_sees_what_is_only_there(workplace, object_storage, storage, tmp_path, monkeypatch):
    for name, value in object_storage.environment.items():
        monkeypatch.setenv(name, value)
    resources = {"storage": storage}
    workplace.sweep(object_storage.environment, own_ray=True, resources=resources)
    shutil.rmtree(workplace.folder / "store")
    store = TrialStore(workplace.folder / "store", storage).look()
    (line,) = explain(study(resources=resources), store, toy.describe)
    assert "nothing runs again" in line
    changed = explain(study(resources=resources, training={"steps": 20}), store, toy.describe)
    assert changed[1:] == ["  spec.training.steps: 10 -> 20"]
    before = len(workplace.log())
    again = workplace.sweep(object_storage.environment, own_ray=True, resources=resources, losses=["triplet"])
    assert "5 already done" in again
    assert workplace.log()[before:] == []
    check(workplace, losses=["triplet"])
