"""How many images and classes a study used, for its results: published ones have no folder of data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dml.config import Study
from dml.data import DataError
from dml.training.data import open_packed_of, split_of


def data_counts(study: Study, data_root: Path) -> dict[str, Any]:
    """By dataset: `{skipped, roles: {train: {images, classes}, test: ...}}`, at the level that it is trained on.

    Images that were skipped could not be decoded. Where seeds select the split, that of the first seed is counted,
    and of several class splits the first.
    Empty if the outputs of the data stages are missing or incomplete.
    """
    found: dict[str, Any] = {}
    try:
        for dataset in study.datasets:
            packed, split = open_packed_of(data_root, dataset.label), split_of(data_root, dataset.label, study.seeds[0])
            roles = split["final"].to_numpy().astype(str)
            if study.search.protocol == "train_val_test":  # then the confirmed models train on the fitting half
                roles = np.where(roles == "train", split["tune"].to_numpy().astype(str), roles)
            labels = packed.index["coarse" if dataset.train_on == "coarse" else "fine"].to_numpy()[split["index"]]
            counts = {
                role: {"images": int((roles == role).sum()), "classes": len(np.unique(labels[roles == role]))}
                for role in dict.fromkeys(roles.tolist())
                if role != "unused"
            }
            found[dataset.label] = {"skipped": len(packed.manifest["skipped"]), "roles": counts}
    except (FileNotFoundError, DataError):
        return {}
    return found
