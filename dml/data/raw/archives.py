"""Unpack archives that may be hostile or broken: either completely, or with one clear error and no files left."""

from __future__ import annotations

import errno
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from tarfile import InvalidHeaderError, ReadError, TruncatedHeaderError  # type: ignore[attr-defined]
from typing import Self

from dml import files
from dml.data import DataError
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
    elif _is_tar(archive):
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


def _is_tar(archive: Path) -> bool:
    try:
        return tarfile.is_tarfile(archive)
    except Exception:  # of many kinds, as above
        return False


def _move(entry: Path, folder: Path) -> Path:
    target = folder / entry.name
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    files.move(entry, target)
    return target
