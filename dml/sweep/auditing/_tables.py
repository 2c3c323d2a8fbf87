"""Tables as CSV files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dml import files


def write_csvs(folder: Path, tables: Mapping[str, pd.DataFrame]) -> list[Path]:
    """Write the tables as `<folder>/<name>.csv`, each atomically; their paths."""
    written = []
    for name, table in tables.items():
        written.append(folder / f"{name}.csv")
        with files.replacing(written[-1]) as temporary:
            table.to_csv(temporary, index=False)
    return written
