"""All images of a dataset as training images, written as the data stages write a study's."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml import noise
from dml.config import Study
from dml.data import sources, splits
from dml.data.packing import Packed
from dml.files import read_json, replacing, sha256, write_json
from dml.training.data import describe, open_packed_of

NO_NOISE = "uniform", 0.0  # the noise that is added


@dataclass(frozen=True)
class AllImages:
    """The training data of a champion."""

    rows: np.ndarray  # int64 (n,): rows in the packed array
    observed: np.ndarray  # int64 (n,): their labels; -1: left out
    labels: str  # what they are: `as given`, or the file
    labels_sha256: str | None  # of the file

    @property
    def counts(self) -> dict[str, int]:
        """`images`, `classes` and `left_out`."""
        kept = self.observed[self.observed >= 0]
        return {"images": len(kept), "classes": len(np.unique(kept)), "left_out": len(self.rows) - len(kept)}


def all_images(study: Study, dataset: str, packed: Packed, labels: Path | None = None) -> AllImages:
    """Every image with a label that the study does not leave unused.

    Labels are those given where a dataset has both given and verified ones; no noise is added.

    Parameters
    ----------
    dataset : its name in the study.
    labels : a label file (`dml.noise.label_file`) in place of the dataset's labels.

    Raises
    ------
    ValueError : the label file is missing or does not fit the images, or fewer than two classes are left.
    """
    section = study.dataset(dataset)
    index = packed.index
    source = sources.build(section.name, **section.settings)
    used = np.zeros(len(index), dtype=bool)
    for split in splits.by_seed(index, source).values():
        used |= (split["final"] != "unused").to_numpy()
        if "final_given" in split:
            used |= (split["final_given"] != "unused").to_numpy()
    given = splits.given_labels(index, section.train_on)
    rows = np.flatnonzero(used & (given >= 0)).astype(np.int64)
    observed, digest = given[rows], None
    if labels is not None:
        observed = noise.build("label_file", path=labels).corrupt(observed, 0, index=rows).observed
        digest = sha256(labels)
    found = AllImages(rows, observed, "as given" if labels is None else str(labels), digest)
    if found.counts["classes"] < 2:
        raise ValueError(f"dataset {dataset!r}: {found.labels}: expected labels of at least 2 classes")
    return found


def write(data: AllImages, dataset: str, seed: int, data_root: Path, out: Path) -> dict[str, str]:
    """Write the data as a trial opens it (`dml.training.data`). Returns its digests, as in `DatasetSpec`.

    Parameters
    ----------
    data_root : with the study's `pack.json`.
    out : the folder to write.
    """
    manifest = json.loads((data_root / "pack.json").read_text(encoding="utf-8"))[dataset]
    write_json(out / "pack.json", {dataset: {**manifest, "folder": _from(out, data_root / manifest["folder"])}})
    count = len(open_packed_of(data_root, dataset).index)
    split = pd.DataFrame({"index": np.arange(count), "final": "unused", "tune": "unused"})
    split.loc[data.rows, "final"] = "train"
    splits.save(split, out / "split" / f"{dataset}.parquet")
    model, rate = NO_NOISE
    table = pd.DataFrame({"noise": model, "rate": rate, "seed": seed, "phase": "confirm", "index": data.rows})
    with replacing(out / "noise" / f"{dataset}.parquet") as temporary:
        table.assign(observed=data.observed, flipped=False).to_parquet(temporary, index=False)
    return describe(out, dataset, model, rate, seed, "confirm")


def add_features(out: Path, dataset: str, name: str, folder: Path) -> None:
    """Name the folder of the stored features or activations that a trial on this data needs."""
    known: dict[str, Any] = read_json(out / "features.json") or {}
    own = {**known.get(dataset, {}), name: {"folder": _from(out, folder)}}
    write_json(out / "features.json", {**known, dataset: own})


def _from(out: Path, folder: Path) -> str:
    return os.path.relpath(folder.resolve(), out.resolve())
