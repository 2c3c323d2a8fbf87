"""What the data stages leave for trials on scikit-learn's digits: images, a split, observed labels. And a score."""

import os

import numpy as np
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


def prepare(root, phases=("confirm",), seeds=(0, 1), rates=(0.0,)):
    """The outputs of the data stages for digits."""
    pack_digits(root)
    split_and_corrupt(root, "digits", sources.build("digits"), "coarse", phases, seeds, rates)


def split_and_corrupt(root, name, source, level, phases=("confirm",), seeds=(0,), rates=(0.0,)):
    """Split a dataset that is packed, and draw uniform noise of its labels."""
    index, models = trial_data.open_packed_of(root, name).index, [("uniform", rate, {}) for rate in rates]
    splits.save(splits.make(index, source), root / f"split/{name}.parquet")
    tables = []
    for phase in phases:
        rows = trial_data.training_rows(root, name, phase)
        tables.append(noise.table(rows, index[level].to_numpy()[rows], models, list(seeds), phase))
    (root / "noise").mkdir()
    pd.concat(tables).to_parquet(root / f"noise/{name}.parquet", index=False)


def packed_digits(root, study="digits"):
    """The folder, with the packed digits for a study."""
    manifest = pack(sources.build("digits"), root / "raw", root / "store/packed/digits", report=lambda line: None)
    entry = {**manifest, "folder": os.path.relpath(root / "store/packed/digits", root / "data" / study)}
    write_json(root / f"data/{study}/pack.json", {"digits": entry})
    return root


def nearest_share(vectors, labels):
    """How many vectors have one of their own class nearest, by cosine."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    return np.mean(labels[similarity.argmax(axis=1)] == labels)
