"""`dml status`: the last lines that sweeps wrote."""

import json
import threading
import time

from dml.sweep.progress import status

NOW = {
    "study": "tiny",
    "state": "running",
    "cells": 2,
    "cells_done": 1,
    "trials": 4,
    "finished": 2,
    "failed": 0,
    "pruned": 0,
    "reused": 0,
    "resumed": 0,
    "running": 1,
    "gpus": "",
    "elapsed": 12.0,
    "left": 10.0,
    "best": {"digits|triplet": 0.5},
}


def write(project, **changes):
    folder = project / "store/sweeps"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.json").write_text(json.dumps({**NOW, "updated": time.time(), **changes}))


def test_a_running_sweep(dml, project):
    write(project)
    assert dml("status").out.startswith("tiny: 1/2 cells, 2/4 trials, 1 running")


def test_a_storage_that_does_not_answer_holds_nothing_up(dml, project, monkeypatch):
    answers, looks = threading.Event(), []

    def slow(storage):
        if storage == "s3://slow":
            answers.wait(30)
        return [{**NOW, "study": storage.removeprefix("s3://"), "host": "elsewhere", "updated": 0}]

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt
        if len(looks) == 2:
            answers.set()
            for thread in [thread for thread in threading.enumerate() if "_look" in thread.name]:
                thread.join()

    write(project)
    for name in ("quick", "slow"):
        (project / f"pipelines/studies/{name}.yaml").write_text(f"resources: {{storage: 's3://{name}'}}\n")
    monkeypatch.setattr(status, "sweeps_there", slow)
    monkeypatch.setattr(status, "ANSWER_SECONDS", 0.3)
    monkeypatch.setattr(status.time, "sleep", sleep)
    lines = dml("status", "--watch").out.splitlines()
    said = [line.partition(":")[0] for line in lines if line]
    assert said == ["quick", "tiny", "quick", "tiny", "quick", "slow", "tiny"]
