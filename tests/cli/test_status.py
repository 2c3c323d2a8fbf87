"""`dml status`: the last lines that sweeps wrote."""

import json
import time

NOW = {
    "study": "tiny",
    "state": "running",
    "cells": 2,
    "cells_done": 1,
    "trials": 4,
    "finished": 2,
    "failed": 0,
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
