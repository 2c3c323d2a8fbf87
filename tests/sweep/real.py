"""The processes that run trials."""

import json
from pathlib import Path


def training_worker(workplace):
    """The process of a worker in the middle of a trial, once one has made a few steps."""
    begun = [line.split() for line in workplace.log() if line.split()[2] != "close"]
    for pid, trial, *_ in begun:
        closed = any(line.split()[1] == trial and "close" in line for line in workplace.log())
        state = next(workplace.folder.glob(f"store/trials/{trial.rsplit('-', 1)[1]}*/checkpoint/state.json"), None)
        if not closed and state is not None and json.loads(state.read_text())["step"] in range(2, 9):
            return int(pid)
    return None


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
