"""Unpack archives that may be hostile or broken: either completely, or with one clear error and no files left behind.

Refused are absolute paths, `..`, links (no dataset needs one), devices, pipes, archives that are truncated or fail
their checksum, and archives beyond the limits below. A tar's own checksums cover only its headers, so a compressed tar
is read to its end, where the compression's checksum is.
"""

from __future__ import annotations

import errno
import lzma
import re
import shutil
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from tarfile import InvalidHeaderError, ReadError, TruncatedHeaderError  # type: ignore[attr-defined]
from typing import IO, Self

from dml import files
from dml.data import DataError
from dml.files import check_space

MAX_BYTES = 200 * 2**30  # unpacked; the largest dataset here, Stanford Online Products, has 3 GB
MAX_RATIO = 200  # unpacked / packed size; deflate allows about 1030, images are near 1, idx files near 5
SLACK = 64 * 2**20  # bytes that any archive may unpack to, regardless of its ratio
MAX_MEMBERS = 2_000_000  # files and folders; Stanford Online Products has 120 thousand
MEMBER_BYTES = 16  # least bytes of the archive per member; Omniglot's drawings take 400, empty files in a .tgz 6
FEW_MEMBERS = 10_000  # members that any archive may have, regardless of its size
BLOCK = 2**20
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,  # a name in another encoding than stated, a negative offset
    OverflowError,
    RuntimeError,  # an unknown compression, headers nested too deep
)  # what Python's readers raise for truncated or corrupt archives


def extract(archive: Path, folder: Path) -> list[Path]:
    """Unpack a zip or tar file into `folder`. A top-level entry replaces an existing one of the same name.

    Returns
    -------
    The top-level entries. They are renamed into place after everything is unpacked.

    Raises
    ------
    DataError : the archive is refused (see above), or is not a zip or tar file; `folder` is unchanged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder))
    try:
        check_space(folder, archive.stat().st_size, str(archive))
        limit = min(MAX_BYTES, max(SLACK, MAX_RATIO * archive.stat().st_size))
        if zipfile.is_zipfile(archive):
            _unzip(archive, temporary, limit)
        elif _is_tar(archive):
            _untar(archive, temporary, limit)
        else:
            raise DataError(f"{archive}: expected a zip or tar file; it is of another kind, truncated or corrupt")
        return [_move(entry, folder) for entry in sorted(temporary.iterdir())]
    except DataError:
        raise
    except NotImplementedError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error}); repack it, for example as .tar.gz") from error
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise DataError(f"{archive}: no space left on the disk of {folder}; no files are left behind") from error
        raise DataError(f"{archive}: truncated or corrupt, cannot be unpacked ({error})") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_tar(archive: Path) -> bool:
    try:
        return tarfile.is_tarfile(archive)
    except BROKEN:
        return False


def _move(entry: Path, folder: Path) -> Path:
    target = folder / entry.name
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    files.move(entry, target)
    return target


def _inside(archive: Path, name: str) -> PurePosixPath:
    """A member's path. Raises a DataError if it leads out of the folder."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in name or re.match("[A-Za-z]:", name):
        raise DataError(f"{archive}: refused: the member {name!r} would be written outside of the folder")
    return path


def _check_named(archive: Path, name: str, path: PurePosixPath, folder: bool) -> None:
    """Raise a DataError for a file whose path is that of the folder that is unpacked into: "" or "."."""
    if not path.parts and not folder:
        raise DataError(f"{archive}: refused: the member {name!r} is a file without a name")


def _copy(source: IO[bytes], target: Path) -> None:
    """Copy a member. Python's readers return at most as many bytes as the archive states, which is checked before."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as file:
        shutil.copyfileobj(source, file, BLOCK)


def _bomb(archive: Path) -> DataError:
    size = archive.stat().st_size
    return DataError(
        f"{archive}: refused: a decompression bomb: its {size} bytes unpack to more than {max(SLACK, MAX_RATIO * size)}"
    )


def _check_members(archive: Path, count: int) -> None:
    limit = min(MAX_MEMBERS, max(FEW_MEMBERS, archive.stat().st_size // MEMBER_BYTES))
    if count > limit:
        raise DataError(f"{archive}: refused: more than {limit} members in {archive.stat().st_size} bytes")


def _unzip(archive: Path, folder: Path, limit: int) -> None:
    with zipfile.ZipFile(archive) as file:
        members = file.infolist()
        _check_members(archive, len(members))
        stated = sum(member.file_size for member in members)
        if stated > limit:
            raise _bomb(archive)
        check_space(folder, stated, str(archive))
        for member in members:
            path = _inside(archive, member.filename)
            is_folder = member.filename.endswith("/")  # `member.is_dir()` fails without a name
            _check_named(archive, member.filename, path, is_folder)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise DataError(f"{archive}: refused: the member {member.filename!r} is a link or a device")
            if member.flag_bits & 1:
                raise DataError(f"{archive}: refused: the member {member.filename!r} is encrypted")
            if is_folder:
                (folder / path).mkdir(parents=True, exist_ok=True)
                continue
            with file.open(member) as source:
                _copy(source, folder / path)


def _untar(archive: Path, folder: Path, limit: int) -> None:
    """Copy the members instead of extracting them, so that no link, owner, mode or time reaches the disk."""
    with tarfile.open(archive, tarinfo=_Member) as file:
        for count, member in enumerate(file, start=1):
            _check_members(archive, count)
            path = _inside(archive, member.name)
            _check_named(archive, member.name, path, not member.isfile())
            if member.isdir():
                (folder / path).mkdir(parents=True, exist_ok=True)
                continue
            if not member.isfile():
                raise DataError(f"{archive}: refused: the member {member.name!r} is a link or a device")
            limit -= member.size
            if limit < 0:
                raise _bomb(archive)
            source = file.extractfile(member)
            assert source is not None, member.name
            with source:
                _copy(source, folder / path)
        assert file.fileobj is not None
        while rest := file.fileobj.read(BLOCK):  # gzip, xz and bz2 verify their checksums at the end
            limit -= len(rest)
            if limit < 0:
                raise _bomb(archive)


class _Member(tarfile.TarInfo):
    """Raises an error for a damaged header, which tarfile would take for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except (InvalidHeaderError, TruncatedHeaderError) as error:
            raise ReadError(f"{error} at byte {tarfile.offset}") from error
