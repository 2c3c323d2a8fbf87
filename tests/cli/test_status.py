"""`dml status`: the last lines that sweeps wrote."""

import json
import subprocess
import sys
import time

from dml.sweep.progress import status as progress_text
from dml.sweep.store import trials as store

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


def test_the_answer_needs_no_heavy_import():
    program = (
        "import sys, dml.sweep.progress.status; print({'torch', 'numpy', 'pandas', 'optuna', 'ray'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    assert (store.FINISHED, store.FAILED) == progress_text.ENDED
