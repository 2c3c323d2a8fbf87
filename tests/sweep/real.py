"""Real trials of digits, and the processes that run them."""

import json
import os
from pathlib import Path

import pandas as pd

from dml import noise
from dml.data import sources, splits
from dml.data.packing import open_packed, pack
from dml.files import write_json
from dml.training import data as trial_data


def pack_digits(root):
    """Pack the digits beside the other outputs of the data stages in `root`. Returns their index."""
    manifest = pack(sources.build("digits"), root / "raw", root / "packed", report=lambda line: None)
    write_json(root / "pack.json", {"digits": {**manifest, "folder": "packed"}})
    return open_packed(root / "packed").index


def prepare(root, phases=("confirm",), seeds=(0, 1)):
    """The outputs of the data stages for digits."""
    index = pack_digits(root)
    splits.save(splits.make(index, sources.build("digits")), root / "split" / "digits.parquet")
    tables = []
    for phase in phases:
        rows = trial_data.training_rows(root, "digits", phase)
        labels = index["coarse"].to_numpy()[rows]
        tables.append(noise.table(rows, labels, [("uniform", 0.0, {})], list(seeds), phase))
    (root / "noise").mkdir()
    pd.concat(tables).to_parquet(root / "noise" / "digits.parquet", index=False)


def packed_digits(root, change=lambda index: index):
    """The folder, with the packed digits for `data/digits`, whose labels may be changed on the disk."""
    folder = root / "store/packed/digits"
    manifest = pack(sources.build("digits"), root / "raw", folder, report=lambda line: None)
    index = next(folder.glob("index*"))
    change(pd.read_parquet(index)).to_parquet(index, index=False)
    entry = {**manifest, "folder": os.path.relpath(folder, root / "data/digits")}
    write_json(root / "data/digits/pack.json", {"digits": entry})
    return root


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
