"""Stage `download`: fetch and verify the raw files of a study's datasets."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dml.data import sources
from dml.pipeline.folders import data_root, raw_folder, write_json

if TYPE_CHECKING:
    from dml.config import Study


def listing(raw: Path) -> dict[str, Any]:
    """The number and size of the files below a folder, and a digest of their names and sizes."""
    files = sorted(path for path in raw.rglob("*") if path.is_file() and path.suffix not in (".json", ".lock"))
    lines = [f"{path.relative_to(raw).as_posix()} {path.stat().st_size}\n" for path in files]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return {"files": len(files), "bytes": sum(path.stat().st_size for path in files), "digest": digest}


def run(study: Study) -> None:
    fetched = {}
    for dataset in study.datasets:
        raw = raw_folder(dataset)
        source = sources.build(dataset.name, **dataset.settings)
        source.download(raw)
        fetched[dataset.label] = {
            "source": dataset.name,
            "options": dataset.settings,
            "fingerprint": source.fingerprint(raw),  # of a user's own files elsewhere
            **listing(raw),
        }
    write_json(data_root(study) / "download.json", fetched)
