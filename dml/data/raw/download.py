"""Fetch and unpack a source's archives: from `DML_MIRROR` (a folder or URL), then from public URLs, with checksums."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tarfile import InvalidHeaderError, ReadError, TruncatedHeaderError  # type: ignore[attr-defined]
from typing import Any, Self

from dml import files
from dml.data import DataError
from dml.data.raw.walking import MARKER
from dml.files import check_space

MAX_RATIO = 200  # unpacked / packed size; deflate allows about 1030, images are near 1, idx files near 5
SLACK = 64 * 2**20  # bytes that any archive may unpack to, regardless of its ratio
MEMBER_BYTES = 512  # that a member counts as at least, since many empty files fill a disk too
BLOCK = 2**20


def extract(archive: Path, folder: Path) -> list[Path]:
    """Unpack a zip or tar file into `folder`. A top-level entry replaces an existing one of the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder))
    try:
        size = archive.stat().st_size
        check_space(folder, size, str(archive))
        unpacked, limit = 0, max(SLACK, MAX_RATIO * size)
        for count in _unpacked(archive, temporary):
            unpacked += count
            if unpacked > limit:
                raise DataError(
                    f"{archive}: refused: a decompression bomb: its {size} bytes unpack to more than {limit}"
                )
        return [_move(entry, folder) for entry in sorted(temporary.iterdir())]
    except DataError:
        raise
    except tarfile.FilterError as error:
        raise DataError(f"{archive}: refused: {error}") from error
    except NotImplementedError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error}); repack it, for example as .tar.gz") from error
    except Exception as error:  # of many kinds, for truncated or corrupt archives
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise DataError(f"{archive}: no space left on the disk of {folder}; no files are left behind") from error
        raise DataError(f"{archive}: truncated or corrupt, cannot be unpacked ({error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _unpacked(archive: Path, folder: Path) -> Iterator[int]:
    """Unpack member by member. Yields the bytes that the next member takes, before it is written."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as file:
            for member in file.infolist():
                path = PurePosixPath(member.filename.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts:
                    raise DataError(f"{archive}: refused: {member.filename!r} would be written outside of the folder")
                yield max(MEMBER_BYTES, member.file_size)
                file.extract(member, folder)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive, tarinfo=_Member) as tar:
            for info in tar:
                yield max(MEMBER_BYTES, info.size)
                tar.extract(info, folder, filter="data")
            assert tar.fileobj is not None
            while rest := tar.fileobj.read(BLOCK):  # gzip, xz and bz2 verify their checksums at the end
                yield len(rest)
    else:
        raise DataError(f"{archive}: expected a zip or tar file; it is of another kind, truncated or corrupt")


class _Member(tarfile.TarInfo):
    """Raises an error for a damaged header, which tarfile would take for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except (InvalidHeaderError, TruncatedHeaderError) as error:
            raise ReadError(f"{error} at byte {tarfile.offset}") from error


def _move(entry: Path, folder: Path) -> Path:
    target = folder / entry.name
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    files.move(entry, target)
    return target


TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5
RETRIED = (408, 429)  # timeout and too many requests; server errors (500 and above) are retried too
EVERY = 5.0  # seconds between two progress lines


class Unavailable(Exception):
    """This place does not provide the file; another one may."""


def get(url: str, target: Path, report: Callable[[str], None], pause: float = 1.0) -> None:
    """Download `url` to `target` through `<target>.part`, which a later call resumes. Raises Unavailable, DataError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    for attempt in range(ATTEMPTS):
        try:
            _attempt(url, part, report)
        except urllib.error.HTTPError as error:
            if error.code == 416 and error.headers.get("Content-Range", "").strip() == f"bytes */{_size(part)}":
                files.move(part, target)  # complete: an earlier call was stopped before it did so
                return
            if error.code == 416:  # the file is shorter than what an earlier call left
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in RETRIED:
                raise Unavailable(f"HTTP {error.code} {error.reason}") from error
            problem: Exception = error
        except urllib.error.URLError as error:
            if not isinstance(error.reason, TimeoutError | ConnectionResetError):
                raise Unavailable(str(error.reason)) from error
            problem = error
        except (http.client.InvalidURL, ValueError) as error:
            raise Unavailable(f"not a URL that can be opened: {error}") from error
        except (http.client.HTTPException, OSError) as error:
            if files.is_disk_full(error):
                raise DataError(
                    f"{part}: no space left on the disk; {_size(part)} downloaded bytes are kept"
                ) from error
            problem = error
        else:
            files.move(part, target)
            return
        report(f"{url}: {problem}; resuming from {_size(part)} bytes")
        if attempt + 1 < ATTEMPTS:
            time.sleep(pause * 2**attempt)
    raise Unavailable(f"{problem} ({ATTEMPTS} attempts; {_size(part)} bytes are kept in {part})")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _attempt(url: str, part: Path, report: Callable[[str], None]) -> None:
    """Append to the .part file, or write it again if the server does not continue there."""
    before = _size(part)
    headers = {"User-Agent": "dml", **({"Range": f"bytes={before}-"} if before else {})}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT) as answer:
        have = before if answer.status == 206 else 0
        sent = answer.headers.get("Content-Range", "")
        if have and not sent.strip().startswith(f"bytes {have}-"):
            part.unlink()  # else bytes of one place would follow those of another
            raise ConnectionError(f"asked for bytes from {have} on, got {sent or 'a range that is not named'}")
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length and length.isdecimal() else None
        check_space(part.parent, (total or have) - have, url)
        reported = time.monotonic()
        with open(part, "ab" if have else "wb") as file:
            while block := answer.read1(BLOCK):  # as the bytes arrive, so that a failing read loses nothing
                file.write(block)
                have += len(block)
                if time.monotonic() - reported > EVERY:
                    reported = time.monotonic()
                    of_all = f" of {total / 2**20:.0f}" if total else ""
                    report(f"{url.rsplit('/', 1)[-1]}: {have / 2**20:.0f}{of_all} MB")
    if total is not None and have < total:
        raise ConnectionError(f"the connection ended at {have} of {total} bytes")


def checksum(path: Path, kind: str) -> str:
    """The hexadecimal digest of a file. `kind` is `md5` or `sha256`."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


def mismatch(path: Path, md5: str | None, sha256: str | None) -> str | None:
    """The first expected checksum that the file fails, as `md5 <got>, expected <md5>`; None if it has them all."""
    for kind, expected in (("sha256", sha256), ("md5", md5)):
        if expected and (got := checksum(path, kind)) != expected:
            return f"{kind} {got}, expected {expected}"
    return None


Report = Callable[[str], None]


@dataclass(frozen=True)
class Archive:
    """One file to fetch."""

    name: str  # its file name in the raw folder and in a mirror
    urls: tuple[str, ...] = ()  # tried in turn
    md5: str | None = None
    sha256: str | None = None
    extract: bool = True
    hint: str = ""  # how a person obtains the file, if no URL serves it


def fetch(source: Any, raw: Path, check_content: Callable[[Any, Path], None], report: Report = print) -> None:
    """Fetch, verify and unpack all of a source's archives, unless an earlier call did so. Raises DataError."""
    with files.locked(raw / f"{MARKER}.lock", on_wait=lambda: report(f"{raw}: waiting for another process")):
        done = files.read_json(raw / MARKER)
        if done and done["entries"] and all((raw / entry).exists() for entry in done["entries"]):
            report(f"{source.name}: downloaded and verified already")
            return
        entries: list[str] = []
        unpacked: list[Path] = []
        unverified: list[Path] = []  # fetched by this call, without the expected checksum
        doubtful: list[str] = []
        try:
            for archive in source.archives:
                path = raw / archive.name
                if not path.is_file():
                    unverified.append(path)
                    _obtain(source.name, archive, path, report)
                if not (archive.md5 or archive.sha256) or mismatch(path, archive.md5, archive.sha256):
                    doubtful.append(archive.name)
                elif path in unverified:
                    unverified.remove(path)
                if archive.extract:
                    report(f"{source.name}: unpacking {archive.name}")
                    unpacked += extract(path, raw)
                    entries += [entry.name for entry in unpacked]
                else:
                    entries.append(archive.name)
            if doubtful:
                report(f"{source.name}: {', '.join(doubtful)}: unknown checksum; checking the content")
                check_content(source, raw)
        except BaseException:
            for path in [*unverified, *unpacked]:  # else a later call would take them for files put there by hand
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            raise
        files.write_json(raw / MARKER, {"entries": sorted(set(entries)), "checked_by_content": doubtful})
        report(f"{source.name}: downloaded and verified")


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
        f"{name}: {archive.name} could not be obtained:\n  " + "\n  ".join(tried) + f"\nPut it at {target.resolve()}, "
        f"or at <mirror>/{name}/{archive.name} with the environment variable DML_MIRROR=<mirror> (a folder or URL)."
        f"{hint}"
    )


def _public(url: str, archive: Archive, target: Path, report: Report) -> None:
    """Download and verify. A resumed file with a wrong checksum is downloaded once more from the start."""
    part = target.with_name(target.name + ".part")
    for attempt in (1, 2):
        resumed = part.exists()
        get(url, target, report)
        wrong = mismatch(target, archive.md5, archive.sha256)
        if wrong is None:
            return
        target.unlink()
        if not resumed or attempt == 2:
            raise Unavailable(f"wrong checksum: {wrong}")


def _copy(place: Path, target: Path, report: Report) -> None:
    if not place.is_file():
        raise Unavailable("no such file")
    target.parent.mkdir(parents=True, exist_ok=True)
    check_space(target.parent, place.stat().st_size, str(place))
    report(f"copying {place}")
    with files.replacing(target) as temporary:
        shutil.copyfile(place, temporary)
