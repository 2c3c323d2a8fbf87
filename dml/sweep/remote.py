"""Files at a URI that all nodes of a cluster can read: S3, Google Cloud Storage, HDFS, or a mounted folder (`file://`)."""

from __future__ import annotations

from pathlib import Path

from pyarrow import fs


class Remote:
    """A folder at a URI.

    Parameters
    ----------
    uri : such as `s3://bucket/sweeps` or `file:///mnt/shared/sweeps`.

    Raises
    ------
    ValueError : Arrow has no filesystem for the URI.
    """

    def __init__(self, uri: str):
        try:
            self._files, self._root = fs.FileSystem.from_uri(uri)
        except Exception as error:
            raise ValueError(
                f"resources.storage {uri!r}: {error}; expected s3://, gs://, hdfs:// or file://"
            ) from error

    def pull(self, source: str, target: Path) -> None:
        """Copy all files below `source` into a local folder. Does nothing if `source` does not exist."""
        source = f"{self._root}/{source}"
        if self._files.get_file_info(source).type == fs.FileType.Directory:
            fs.copy_files(source, str(target), source_filesystem=self._files)

    def push(self, source: Path, target: str) -> None:
        """Copy a local folder's files below `target`, and delete files there that the local folder no longer has.

        The result is copied last, so the other files are complete as soon as the result exists.
        """
        target = f"{self._root}/{target}"
        files = [p for p in source.rglob("*") if p.is_file() and p.name != "lock" and not p.name.startswith(".")]
        for path in sorted(files, key=lambda p: (p.name in ("result.json", "failed.json"), str(p))):
            to = f"{target}/{path.relative_to(source).as_posix()}"
            self._files.create_dir(to.rpartition("/")[0], recursive=True)
            fs.copy_files(str(path), to, destination_filesystem=self._files)
        kept = {f"{target}/{path.relative_to(source).as_posix()}" for path in files}
        existing = self._files.get_file_info(fs.FileSelector(target, recursive=True, allow_not_found=True))
        for info in existing:
            if info.type == fs.FileType.File and info.path not in kept:
                self._files.delete_file(info.path)

    def delete(self, target: str) -> None:
        """Delete a folder. Does nothing if it does not exist."""
        if self._files.get_file_info(f"{self._root}/{target}").type == fs.FileType.Directory:
            self._files.delete_dir(f"{self._root}/{target}")
