"""Reading snapshots, and writing the arrays that a snapshot's figures are drawn from. Equal arrays give equal bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dml.files import replacing
from dml.types import ScoreKey

FIGURES = "figures.npz"


def write_figures(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a snapshot's arrays, by `<figure>/<key>/<set>/<field>`. Without arrays, it has no such file."""
    (folder / FIGURES).unlink(missing_ok=True)
    if arrays:
        with replacing(folder / FIGURES) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **{name: arrays[name] for name in sorted(arrays)})  # type: ignore[arg-type]


def arrays_in(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file; none without such a file."""
    if not path.is_file():
        return {}
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


LARGEST = 1_000_000  # bytes of one snapshot
TRIALS, SUMMARY = "trials.parquet", "summary.json"


@dataclass(frozen=True)
class Snapshot:
    """The published results of one study."""

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
        """The arrays that its figures are drawn from, by `<figure>/<key>/<set>/<field>`; none without such a file."""
        return arrays_in(self.path / FIGURES)

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
