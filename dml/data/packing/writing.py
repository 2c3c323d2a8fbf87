"""Write a source's images, decoded and resized in parallel, and their index."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dml.data import DataError
from dml.data.packing.array_file import PackWriter
from dml.data.packing.content import Content, all_corrupt, decoded
from dml.data.packing.copies import Copies
from dml.data.packing.decoding import CorruptImage, How, as_resize
from dml.data.packing.listing import Listing, alike_names, check_counts, corrupt_error, list_images, lost_classes
from dml.data.packing.streaming import ProgressLine
from dml.data.raw.space import check_space
from dml.protocols import Source


def write(
    source: Source, raw: Path, folder: Path, asked: Mapping[str, Any], workers: int, report: Callable[[str], None]
) -> dict[str, Any]:
    """Write `images.npy` and `index.parquet` into `folder`.

    Parameters
    ----------
    asked : the settings of `pack`: `resize`, `on_corrupt`.

    Returns
    -------
    What the manifest says of the result.
    """
    how, fatal = asked["resize"], asked["on_corrupt"] == "error"
    listing = list_images(source, raw, workers, report)
    check_counts(source, listing.index)
    if alike := alike_names(listing.index):
        report(f"{source.name}: {alike}")
    if listing.corrupt and fatal:
        raise corrupt_error(listing.index, all_corrupt(source, raw, listing, workers))
    shape = (len(listing.index) - len(listing.corrupt), *_size(source, listing, how), 1 if listing.grey else 3)
    check_space(folder, math.prod(shape), f"{source.name} (a smaller `resize` needs less)")

    known = source.content if source.complete else None
    corrupt, digest, content, copies = dict(listing.corrupt), hashlib.sha256(), Content(listing), Copies()
    progress = ProgressLine(f"packing {source.name}", len(listing.index), report)
    with PackWriter(folder / "images.npy", shape) as images:
        for row, pixels, own in decoded(source, raw, listing, how, workers, known is not None):
            if isinstance(pixels, CorruptImage):
                corrupt[row] = str(pixels)
                continue
            assert pixels.shape == shape[1:], (pixels.shape, shape)
            data = pixels.tobytes()
            copies.add(images.count, data)
            images.write(data)
            digest.update(data)
            content.add(row, own)
            progress(row + 1)
    if corrupt and fatal:
        raise corrupt_error(listing.index, corrupt)
    if known is not None and content.digest.hexdigest() != known:
        raise DataError(
            f"{source.name}: the images or labels in {raw} are not those of the dataset: content digest "
            f"{content.digest.hexdigest()}, expected {known}; delete the folder and download again"
        )

    index = listing.index.drop(index=list(corrupt)).reset_index(drop=True)
    index["index"] = np.arange(len(index))
    index.to_parquet(folder / "index.parquet", index=False)
    for level in ("fine", "coarse"):
        digest.update(index[level].to_numpy("<i8").tobytes())
    paths = listing.index["path"].to_numpy()
    optional = {"copies": copies.groups, "lost_classes": lost_classes(listing.index, corrupt)}
    return {
        **{name: value for name, value in optional.items() if value},
        "images": images.count,
        "height": shape[1],
        "width": shape[2],
        "channels": shape[3],
        "digest": digest.hexdigest(),
        "content": known,
        "skipped": [{"path": str(paths[row]), "reason": corrupt[row]} for row in sorted(corrupt)],
    }


def _size(source: Source, listing: Listing, how: How) -> tuple[int, int]:
    """Height and width of the packed images."""
    valid = listing.index.drop(index=list(listing.corrupt))
    if valid.empty:
        raise corrupt_error(listing.index, listing.corrupt)
    if how is not None:
        return (as_resize(how).side,) * 2
    first = valid.iloc[0]
    other = valid[(valid["height"] != first["height"]) | (valid["width"] != first["width"])]
    if len(other):
        found = ", ".join(f"{r['path']} is {r['height']} x {r['width']}" for r in (first, other.iloc[0]))
        raise DataError(f"{source.name}: the images have several sizes ({found}): set `resize`, a side in pixels")
    return int(first["height"]), int(first["width"])
