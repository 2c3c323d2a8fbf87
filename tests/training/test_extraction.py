"""Computing features: in shards, resumed after a kill, and with one clear message where it cannot go on."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from dml.training.frozen.extraction import extract
from dml.training.frozen.opening import open_features
from dml.training.frozen.recipe import BATCH, SHARD
from dml.types import TrainingSpec

pytestmark = pytest.mark.slow

FROZEN = TrainingSpec(backbone_settings={"width": 4}, frozen=True)
BELOW = TrainingSpec(
    backbone_settings={"width": 4},
    train_from="layers.3",
    views=2,
    augment="random_resized_crop",
    augment_settings={"image_size": 8},
    frozen_precision="float16",
)
KINDS = {"features": (FROZEN, SHARD), "activations": (BELOW, BATCH)}  # with the images of a shard
SHARDS = 4  # of the 1797 digits


@pytest.fixture(scope="module")
def whole_of(packed, tmp_path_factory):
    """The features and activations of uninterrupted runs."""
    each = {name: extract(packed, training, tmp_path_factory.mktemp("whole")) for name, (training, _) in KINDS.items()}
    return {name: np.array(open_features(folder).array) for name, folder in each.items()}


SLOW = """
import json, sys, time
from pathlib import Path
from dml.data.packing import open_packed
from dml.training.frozen.extraction import extract
from dml.types import TrainingSpec

def slowly(work, shards):
    for shard in shards:
        yield work.write(shard)
        print(shard, flush=True)
        if shard == 1:
            time.sleep(60)

training = TrainingSpec(**json.loads(sys.argv[3]))
extract(open_packed(Path(sys.argv[1])), training, Path(sys.argv[2]), slowly)
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_with_the_shards_that_are_missing(packed, whole_of, tmp_path, kind):
    training, size = KINDS[kind]
    given = {name: value for name, value in vars(training).items() if value != getattr(TrainingSpec(), name)}
    command = [sys.executable, "-c", SLOW, str(packed.folder), str(tmp_path), json.dumps(given)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    while process.stdout.readline().strip() != "1":
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list(tmp_path.glob("[!.]*/manifest.json")), "unfinished features are not taken for finished ones"
    asked, lines = [], []

    def run(work, shards):
        asked.extend(shards)
        return map(work.write, shards)

    folder = extract(packed, training, tmp_path, run, lines.append)
    assert asked == list(range(2, -(-1797 // size)))
    assert f"resuming, {2 * size} of 1797 images are done" in lines[0]
    assert np.array_equal(open_features(folder).array, whole_of[kind])
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == [folder.name]


def test_features_that_two_studies_need_are_computed_once(packed, tmp_path):
    computed = []

    def run(work, shards):
        computed.append(len(shards))
        return map(work.write, shards)

    with ThreadPoolExecutor(2) as pool:
        tasks = [pool.submit(extract, packed, FROZEN, tmp_path, run) for _ in range(2)]
    assert tasks[0].result() == tasks[1].result()
    assert computed == [SHARDS]
