"""Fetching a source's archives: `DML_MIRROR` first, then the public URLs; resumed, verified, renamed whole.

`DML_MIRROR` names a folder or a URL that holds `<source>/<archive>`. A public download must have the archive's
checksum. A mirror's archive may be repacked: where its checksum differs, what is in it is checked, by the number of
images and classes and, where the source states one, by the digest of all decoded pixels and labels.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dml.data import DataError
from dml.data._http import Unavailable, get
from dml.data._listing import check_counts, list_images
from dml.data._store import check_space, load_json, locked, save_json, sync
from dml.data.archives import extract

MARKER = "verified.json"
Report = Callable[[str], None]


@dataclass(frozen=True)
class Archive:
    """One file to fetch."""

    name: str  # its name in `raw` and in a mirror
    urls: tuple[str, ...] = ()  # public places, tried in turn
    md5: str | None = None
    sha256: str | None = None
    extract: bool = True
    hint: str = ""  # where a person gets it, when no URL serves it


def fetch(source: Any, raw: Path, report: Report = print) -> None:
    """Bring all of a source's archives into `raw`, verified and unpacked; nothing happens where they are already.

    An archive that lies in `raw` (put there by hand) is used before any other. After an error or interruption of
    any kind what this call fetched and unpacked is gone, and the next one fetches it again; only an archive that has
    its checksum stays.

    Raises
    ------
    DataError : no place has an archive, a checksum or the content is wrong, or an archive cannot be unpacked.
    """
    with locked(raw / MARKER, report):
        done = load_json(raw / MARKER)
        if done and done["entries"] and all((raw / entry).exists() for entry in done["entries"]):
            report(f"{source.name}: downloaded and verified already")
            return
        entries: list[str] = []
        unpacked: list[Path] = []
        unsure: list[Path] = []  # fetched by this call, and not of the checksum expected
        doubtful: list[str] = []
        try:
            for archive in source.archives:
                path = raw / archive.name
                if not path.is_file():
                    unsure.append(path)
                    _obtain(source.name, archive, path, report)
                if not (archive.md5 or archive.sha256) or not _verified(path, archive):
                    doubtful.append(archive.name)
                elif path in unsure:
                    unsure.remove(path)
                if archive.extract:
                    report(f"{source.name}: unpacking {archive.name}")
                    unpacked += extract(path, raw)
                    entries += [entry.name for entry in unpacked]
                else:
                    entries.append(archive.name)
            if doubtful:
                report(f"{source.name}: {', '.join(doubtful)}: not known by checksum; checking the content")
                _check_content(source, raw)
        except BaseException:
            for path in [*unsure, *unpacked]:  # must not pass for the dataset, or for a file put there by hand
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            raise
        save_json(raw / MARKER, {"entries": sorted(set(entries)), "checked_by_content": doubtful})
        sync(raw / MARKER)
        report(f"{source.name}: downloaded and verified")


def _check_content(source: Any, raw: Path) -> None:
    from dml.data.packed import content_digest

    if not getattr(source, "complete", True):
        return
    known = getattr(source, "content", None)
    check_counts(source, list_images(source, raw, os.cpu_count() or 1, lambda line: None).index)
    if known and (got := content_digest(source, raw)) != known:
        raise DataError(
            f"{source.name}: the archives are whole, but their images or labels are not the dataset's "
            f"(content digest {got}, expected {known})"
        )


def _verified(path: Path, archive: Archive) -> bool:
    for kind, expected in (("sha256", archive.sha256), ("md5", archive.md5)):
        if expected and checksum(path, kind) != expected:
            return False
    return True


def checksum(path: Path, kind: str) -> str:
    """Hex digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def _obtain(name: str, archive: Archive, target: Path, report: Report) -> None:
    """Fetch an archive from the first place that has it."""
    tried: list[str] = []
    mirror = os.environ.get("DML_MIRROR", "").strip()
    if mirror:
        place = f"{mirror.rstrip('/')}/{name}/{archive.name}"
        try:
            if "://" in mirror:
                get(place, target, report)
            else:
                _copy(Path(place).expanduser(), target, report)
            return
        except Unavailable as error:
            tried.append(f"{place} (DML_MIRROR): {error}")
    for url in archive.urls:
        try:
            _public(url, archive, target, report)
            return
        except Unavailable as error:
            tried.append(f"{url}: {error}")
    tried = tried or ["no public URL serves it"]
    hint = f"\n{archive.hint}" if archive.hint else ""
    raise DataError(
        f"{name}: {archive.name} could not be had:\n  " + "\n  ".join(tried) + f"\nPut it at {target.resolve()}, or at "
        f"<mirror>/{name}/{archive.name} with the environment variable DML_MIRROR=<mirror> (a folder or URL).{hint}"
    )


def _public(url: str, archive: Archive, target: Path, report: Report) -> None:
    """Download; a wrong checksum is tried once more from the start, since a resumed file may have changed."""
    part = target.with_name(target.name + ".part")
    for attempt in (1, 2):
        resumed = part.exists()
        get(url, target, report)
        if _verified(target, archive):
            return
        kind = "sha256" if archive.sha256 else "md5"
        got = checksum(target, kind)
        target.unlink()
        if not resumed or attempt == 2:
            break
    raise Unavailable(f"wrong checksum: {kind} {got}, expected {getattr(archive, kind)}")


def _copy(place: Path, target: Path, report: Report) -> None:
    if not place.is_file():
        raise Unavailable("no such file")
    target.parent.mkdir(parents=True, exist_ok=True)
    check_space(target.parent, place.stat().st_size, str(place))
    report(f"copying {place}")
    part = target.with_name(target.name + ".part")
    shutil.copyfile(place, part)
    sync(part)
    os.replace(part, target)
