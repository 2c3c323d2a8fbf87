"""How many images and classes a study used, for its results: published ones have no folder of data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dml.config import Study
from dml.data import DataError, sources, splits
from dml.files import read_json
from dml.training.data import open_packed_of, split_of


def data_counts(study: Study, data_root: Path) -> dict[str, Any]:
    """By dataset: `{skipped, roles: {train: {images, classes}, test: ...}}`, at the level that it is trained on.

    Images that were skipped could not be decoded. Where seeds select the split, that of the first seed is counted,
    and of several class splits the first. If `data_notes` has any, they are in `notes`.
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
            if notes := data_notes(study, dataset.label, data_root):
                found[dataset.label]["notes"] = notes
    except (FileNotFoundError, DataError):
        return {}
    return found


def data_notes(study: Study, dataset: str, data_root: Path, left_out: str | None = None) -> list[str]:
    """What to tell the user of packed images: what is left out, and identical images on both sides of the split.

    Parameters
    ----------
    left_out : what the source says of files that it does not read; None: what it said when they were packed.

    Raises
    ------
    FileNotFoundError, ValueError : the outputs of the stage `pack` are missing or incomplete, or cannot be split.
    """
    packed, section = open_packed_of(data_root, dataset), study.dataset(dataset)
    copies, crossing = packed.manifest.get("copies"), ""
    if left_out is None:
        left_out = read_json(data_root / "pack.json")[dataset].get("left_out", "")
    if copies:
        try:
            split = split_of(data_root, dataset, study.seeds[0])
        except FileNotFoundError:  # `dml audit` needs no stage `split`
            split = next(iter(splits.by_seed(packed.index, sources.build(section.name, **section.settings)).values()))
        crossing = splits.crossing(copies, split, packed.index["fine"].to_numpy())
    return [text for text in (left_out, packed.manifest.get("lost_classes"), crossing) if text]
