"""Reading snapshots.

The arrays that a snapshot's figures are drawn from: `figures.npz`, and pictures as strips, `pictures-<name>.png`.

Equal arrays give equal bytes. A strip shows all pictures of a dataset below each other, so that a reader of the
repository sees which pictures it contains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from dml.files import replacing
from dml.types import ScoreKey

FIGURES, STRIP = "figures.npz", "pictures-{}.png"
FIELD = "thumbnails"  # `pictures/all/<dataset>/thumbnails` is a strip


def write_figures(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a snapshot's arrays. Without arrays, it has no such files.

    Parameters
    ----------
    arrays : by `<figure>/<key>/<set>/<field>`; thumbnails are uint8 (n, h, w, 3).
    """
    for old in _written(folder):
        old.unlink(missing_ok=True)
    strips = {name: array for name, array in arrays.items() if name.endswith(f"/{FIELD}")}
    for name, array in strips.items():
        with replacing(folder / STRIP.format(name.split("/")[2])) as temporary:
            Image.fromarray(_grey(array.reshape(-1, *array.shape[2:]))).save(temporary, "PNG", optimize=True)
    if arrays:
        heights = {f"{name}/height": np.array(array.shape[1]) for name, array in strips.items()}
        rest = {name: array for name, array in arrays.items() if name not in strips} | heights
        with replacing(folder / FIGURES) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **{name: rest[name] for name in sorted(rest)})  # type: ignore[arg-type]


def read_figures(folder: Path) -> dict[str, np.ndarray]:
    """What `write` was given; nothing if the snapshot has no such files.

    Raises
    ------
    OSError, ValueError : a file is missing or broken.
    """
    if not (folder / FIGURES).is_file():
        return {}
    with np.load(folder / FIGURES, allow_pickle=False) as file:
        arrays = dict(file)
    for name in [name for name in arrays if name.endswith(f"/{FIELD}/height")]:
        height, strip = int(arrays.pop(name)), name.removesuffix("/height")
        with Image.open(folder / STRIP.format(strip.split("/")[2]), formats=("PNG",)) as image:
            pixels = np.asarray(image.convert("RGB"))
        arrays[strip] = pixels.reshape(-1, height, *pixels.shape[1:])
    return arrays


def _written(folder: Path) -> list[Path]:
    """The files of an earlier call."""
    if not (folder / FIGURES).is_file():
        return []
    with np.load(folder / FIGURES, allow_pickle=False) as file:
        strips = [name.split("/")[2] for name in file.files if name.endswith(f"/{FIELD}/height")]
    return [folder / FIGURES, *(folder / STRIP.format(name) for name in strips)]


def _grey(pixels: np.ndarray) -> np.ndarray:
    """(h, w) if the channels of pixels (h, w, 3) are equal, which takes a third of the space."""
    return pixels[..., 0] if (pixels == pixels[..., :1]).all() else pixels


LARGEST = 1_000_000  # bytes of one snapshot
TRIALS, SUMMARY = "trials.parquet", "summary.json"


@dataclass(frozen=True)
class Snapshot:
    """The published results of one study.

    Parameters
    ----------
    path : its folder, named as the study.
    """

    path: Path

    @property
    def exists(self) -> bool:
        """Whether the study has been published."""
        return (self.path / TRIALS).is_file()

    def summary(self) -> dict[str, Any]:
        """What ran where: `git_commit`, `versions`, `machine`, `command`, `training_seconds`, ..."""
        return json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))

    def trials(self) -> pd.DataFrame:
        """The trials, rounded, with the study as it ran (`dml.config.loading`)."""
        return pd.read_parquet(self.path / TRIALS)

    def figures(self) -> dict[str, np.ndarray]:
        """The arrays that its figures of embeddings are drawn from, by `<figure>/<key>/<set>/<field>`."""
        return read_figures(self.path)

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def outcomes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(first digits of the key, `scores`, `curve`, `diagnostics`, `counts`, `seconds`, `started`) of each trial."""
        trials = self.trials()
        keys = [column for column in trials if ScoreKey.is_spelt(column)]
        for row in trials.to_dict("records"):
            logged = json.loads(row["diagnostics"])
            yield (
                row["key"],
                {
                    "scores": {key: row[key] for key in keys if not np.isnan(row[key])},
                    "curve": json.loads(row["curve"]),
                    "diagnostics": {key: value for key, value in logged.items() if not isinstance(value, list)},
                    "counts": {key: value for key, value in logged.items() if isinstance(value, list)},
                    "seconds": row["seconds"],
                    "started": row["started"],
                },
            )


def snapshots(root: Path) -> list[Snapshot]:
    """All snapshots in a folder, by name."""
    return [Snapshot(path.parent) for path in sorted(root.glob(f"*/{TRIALS}"))]
