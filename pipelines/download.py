"""Stage `download`: fetch and verify the raw files of a study's datasets."""

import hashlib
from pathlib import Path

from _stage import data_root, raw_folder, run, write_json

from dml import data
from dml.config import Study


def listing(raw: Path) -> dict[str, int | str]:
    """What lies below a folder: how much, and a digest of its names and sizes."""
    files = sorted(path for path in raw.rglob("*") if path.is_file() and path.suffix not in (".json", ".lock"))
    lines = [f"{path.relative_to(raw).as_posix()} {path.stat().st_size}\n" for path in files]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    return {"files": len(files), "bytes": sum(path.stat().st_size for path in files), "digest": digest}


def download(study: Study) -> None:
    fetched = {}
    for dataset in study.datasets:
        raw = raw_folder(dataset)
        source = data.build(dataset.source, **dataset.options)
        source.download(raw)
        fetched[dataset.label] = {"source": dataset.source, "options": dataset.options, **listing(raw)}
        if hasattr(source, "fingerprint"):  # files of the user's own, elsewhere
            fetched[dataset.label]["fingerprint"] = source.fingerprint(raw)
    write_json(data_root(study) / "download.json", fetched)


if __name__ == "__main__":
    run(download)
