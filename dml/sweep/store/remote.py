"""Files at a URI that all nodes of a cluster can read: S3, Google Cloud Storage, HDFS, or a mounted folder (`file://`).

A request that gets no answer is repeated for `DML_STORAGE_PATIENCE` seconds (600). What is written is listed and
compared afterwards, and a trial's outcome is read back, because some storages answer before a write is safe.

What went wrong with `resources.storage`, as one message that says what was expected, what came, and what to do.

Arrow raises OSError with the server's answer as text (`AWS Error NO_SUCH_BUCKET during ...`), so that is read here.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from pyarrow import fs

from dml.files import is_disk_full

ERRNO = errno.EREMOTEIO  # by which a trial's outcome says that the storage failed, not the trial
UNANSWERED = re.compile(
    r"NETWORK_CONNECTION|curlCode|SLOW_DOWN|SlowDown|THROTTL|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|InternalError"
    r"|REQUEST_TIMEOUT|HTTP status 5\d\d"
)
CLOCK = re.compile(r"REQUEST_TIME_TOO_SKEWED|RequestTimeTooSkewed|REQUEST_EXPIRED|RequestExpired")
REFUSED = re.compile(
    r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY_ID|INVALID_SIGNATURE|INVALID_CLIENT_TOKEN|EXPIRED_TOKEN"
    r"|InvalidAccessKeyId|AccessDenied|ExpiredToken|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION|HTTP status 40[13]"
)
NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|Bucket '.*' not found")
SHOWN = 300  # characters of the server's answer


class StorageError(OSError):
    """The storage cannot be used. The message is complete. `transient`: it may answer later."""

    def __init__(self, message: str, transient: bool = False):
        super().__init__(message)
        self.errno, self.transient = ERRNO, transient

    def __str__(self) -> str:
        return str(self.args[0])


def explained(where: str, error: Exception) -> StorageError:
    """The error of a request to a storage with its remedy.

    Parameters
    ----------
    where : the setting, its URI, and the endpoint if one is set.
    """
    text = " ".join(str(error).split())
    answer = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    if CLOCK.search(text):
        what = "it refuses requests because this machine's clock differs too much from its own. Set the clocks (NTP)"
    elif REFUSED.search(text):
        what = (
            "it refuses the credentials of this machine. Expected: keys that may list, read, write and delete there. "
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws, on every node"
        )
    elif NO_BUCKET.search(text):
        what = "the bucket does not exist there. Create it, or name an existing one"
    elif UNANSWERED.search(text):
        what = (
            "it does not answer. Start it, or correct the address (AWS_ENDPOINT_URL, or ?endpoint_override=host:port "
            "in the URI), and run this again: finished work is kept"
        )
        return StorageError(f"{where}: {what}. It said: {answer}", transient=True)
    else:
        what = "a request failed"
    return StorageError(f"{where}: {what}. It said: {answer}")


T = TypeVar("T")

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 30.0  # without a byte; the library's default of 3 s fails on servers that are only slow
OPTIONS = ("endpoint_override", "region", "scheme")
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # as for the AWS command line and boto3
EXPECTED = "expected s3://, gs://, hdfs:// or file://"
PATIENCE_SECONDS = 600.0  # for a storage that does not answer while a sweep runs
START_SECONDS = 10.0  # for one that does not answer before anything has run
SLOW_SECONDS = 3.0  # for a small file; more is worth a message
WAITS = (0.2, 1.0, 5.0)  # seconds between two attempts to write what the storage did not keep
RETRY_SECONDS = (0.5, 10.0)  # the first and the longest wait for an answer
PART = 8 * 2**20  # bytes that are read at once
LAST = ("result.json", "failed.json")  # written once everything else is there, and read back
FOLDERS = ("local", "hdfs")  # whose folders must be created before a file is written


def default_patience() -> float:
    """Seconds that a request waits for an answer: `DML_STORAGE_PATIENCE`."""
    return float(os.environ.get("DML_STORAGE_PATIENCE", PATIENCE_SECONDS))


class Remote:
    """A folder at a URI.

    Parameters
    ----------
    uri : such as `s3://bucket/sweeps` or `file:///mnt/shared/sweeps`.
    patience : seconds that a request waits for an answer; None: `DML_STORAGE_PATIENCE`.

    Raises
    ------
    ValueError : Arrow has no filesystem for the URI.
    """

    def __init__(self, uri: str, patience: float | None = None):
        self.uri = uri
        self._files, self._root = open_filesystem(uri)
        self._patience = default_patience() if patience is None else patience

    @cached_property
    def where(self) -> str:
        """The setting, for messages."""
        server = endpoint(self.uri)
        shown = self.uri.rpartition("@")[2]  # never a key
        return f"resources.storage {shown!r}{f' at {server}' if server else ''}"

    def check(self) -> float:
        """Write a small file, read it back and delete it.

        Returns
        -------
        The seconds that this took.

        Raises
        ------
        StorageError : with what is wrong and what to do.
        """
        started, name = time.monotonic(), f".check-{platform.node()}-{os.getpid()}"
        with self.impatient():
            self.write(name, b"dml")
            self.delete_file(name)
        return time.monotonic() - started

    @contextmanager
    def impatient(self) -> Iterator[None]:
        """Wait only `START_SECONDS` for answers in a block: a user waits, and nothing is lost."""
        patience, self._patience = self._patience, min(self._patience, START_SECONDS)
        try:
            yield
        finally:
            self._patience = patience

    def list(self, folder: str) -> dict[str, int]:
        """The bytes of all files below a folder, by their path in it. Times are left out: they are another clock's."""
        base = f"{self._root}/{folder}"
        selector = fs.FileSelector(base, recursive=True, allow_not_found=True)
        found = self._try(lambda: self._files.get_file_info(selector))
        return {info.path[len(base) :].lstrip("/"): info.size or 0 for info in found if info.type == fs.FileType.File}

    def read(self, name: str) -> bytes | None:
        """A small file's content; None if it does not exist."""

        def read() -> bytes | None:
            try:
                with self._files.open_input_stream(f"{self._root}/{name}") as file:
                    return file.read()
            except FileNotFoundError:
                return None

        return self._try(read)

    def read_json(self, name: str) -> Any:
        """A small JSON file's content; None if it is missing or damaged."""
        content = self.read(name)
        try:
            return None if content is None else json.loads(content)
        except ValueError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, and read it back.

        Raises
        ------
        StorageError : the storage does not keep it.
        """

        def write() -> None:
            path = self._path(name)
            with self._files.open_output_stream(path) as file:
                file.write(content)

        def lost(_: Iterable[str]) -> Iterable[str]:
            return [] if self.read(name) == content else [name]

        self._keep([name], lambda _: self._try(write), lost)

    def pull(self, source: str, target: Path) -> None:
        """Copy all files below `source` into a local folder. Does nothing if `source` does not exist."""
        source = f"{self._root}/{source}"
        try:
            if self._try(lambda: self._files.get_file_info(source)).type == fs.FileType.Directory:
                target.mkdir(parents=True, exist_ok=True)
                self._try(lambda: fs.copy_files(source, str(target), source_filesystem=self._files))
        except OSError as error:
            if is_disk_full(error):
                error.filename = str(target)
            raise

    def push(self, source: Path, target: str) -> None:
        """Copy a local folder's files below `target`, and delete files there that the local folder no longer has.

        The outcome is copied once the storage has the other files, and read back. A checkpoint that replaces one of the
        same size could be the older one; a trial that resumes from it gives the same result.

        Raises
        ------
        StorageError : the storage does not keep what is written.
        """
        files = {
            path.relative_to(source).as_posix(): path.stat().st_size
            for path in sorted(source.rglob("*"))
            if path.is_file() and path.name != "lock" and not path.name.startswith(".")
        }
        there: Mapping[str, int] = {}

        def lost(names: Iterable[str]) -> list[str]:
            nonlocal there
            there = self.list(target)
            return [name for name in names if name not in there or there[name] != files[name]]

        def copy(names: Iterable[str]) -> None:
            for name in names:
                self._copy(source / name, f"{target}/{name}")

        self._keep([name for name in files if name not in LAST], copy, lost)
        for name in (name for name in LAST if name in files):
            self.write(f"{target}/{name}", (source / name).read_bytes())
        for name in there.keys() - files.keys():
            self.delete_file(f"{target}/{name}")

    def delete_file(self, name: str) -> None:
        """Delete a file. Does nothing if it does not exist."""

        def delete() -> None:
            try:
                self._files.delete_file(f"{self._root}/{name}")
            except FileNotFoundError:
                return

        self._try(delete)

    def _copy(self, path: Path, name: str) -> None:
        to = self._path(name)

        def copy() -> None:  # not `fs.copy_files`, which ignores an error that comes with the last part
            with open(path, "rb") as source, self._files.open_output_stream(to) as file:
                shutil.copyfileobj(source, file, PART)

        self._try(copy)

    def _path(self, name: str) -> str:
        """The path of a file that is about to be written."""
        path = f"{self._root}/{name}"
        if self._files.type_name in FOLDERS:
            self._try(lambda: self._files.create_dir(path.rpartition("/")[0], recursive=True))
        return path

    def _keep(
        self,
        names: Iterable[str],
        write: Callable[[Iterable[str]], None],
        lost: Callable[[Iterable[str]], Iterable[str]],
    ) -> None:
        """Write files until the storage has them."""
        missing = list(names)
        for wait in (*WAITS, None):
            write(missing)
            missing = list(lost(missing))
            if not missing:
                return
            if wait is not None:
                time.sleep(wait)
        raise StorageError(
            f"{self.where}: it does not keep what is written. Expected: each file as it was written; missing or "
            f"different after {len(WAITS) + 1} attempts: {', '.join(sorted(missing)[:3])}. Check the storage, and run "
            "this again: what it lacks is written or trained again"
        )

    def _try(self, request: Callable[[], T]) -> T:
        """Send a request until it is answered.

        Raises
        ------
        StorageError : it was refused, or not answered in time.
        OSError : the local disk is full.
        """
        started, wait = time.monotonic(), RETRY_SECONDS[0]
        while True:
            try:
                return request()
            except OSError as error:
                if isinstance(error, StorageError) or is_disk_full(error):
                    raise
                problem = explained(self.where, error)
                if not problem.transient or time.monotonic() - started >= self._patience:
                    raise problem from None
            time.sleep(min(wait, max(0.0, self._patience - (time.monotonic() - started))))
            wait = min(2 * wait, RETRY_SECONDS[1])


def open_filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it.

    Credentials are those that AWS's own tools find (`AWS_ACCESS_KEY_ID` and so on, `~/.aws`, the instance's role).

    Raises
    ------
    ValueError : Arrow has no file system for the URI, or an option of an S3 URI is unknown.
    """
    try:
        return _s3(uri) if uri.startswith("s3://") else fs.FileSystem.from_uri(uri)
    except Exception as error:
        raise ValueError(f"resources.storage {uri!r}: {error}; {EXPECTED}") from error


def endpoint(uri: str) -> str:
    """The server that an S3 URI or the environment names instead of AWS; empty for AWS and for other URIs."""
    if not uri.startswith("s3://"):
        return ""
    named = dict(parse_qsl(urlsplit(uri).query)).get("endpoint_override")
    return named or next((value for name in ENDPOINTS if (value := os.environ.get(name))), "")


def _s3(uri: str) -> tuple[fs.FileSystem, str]:
    parts = urlsplit(uri)
    given = dict(parse_qsl(parts.query))
    if unknown := sorted(set(given) - set(OPTIONS)):
        raise ValueError(f"unknown options {', '.join(unknown)}; choices: {', '.join(OPTIONS)}")
    bucket = parts.netloc.rpartition("@")[2]
    if not bucket:
        raise ValueError("it names no bucket: s3://bucket/folder")
    options: dict[str, str] = {name: given[name] for name in ("region", "scheme") if name in given}
    if parts.username:
        options |= {"access_key": unquote(parts.username), "secret_key": unquote(parts.password or "")}
    server = endpoint(uri)
    if server:
        options["endpoint_override"] = server
    elif "region" not in options:
        options["region"] = fs.resolve_s3_region(bucket)
    files = fs.S3FileSystem(
        **options,
        connect_timeout=CONNECT_SECONDS,
        request_timeout=SILENT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),  # `Remote` repeats requests itself
        allow_delayed_open=True,  # small files take one request
    )
    return files, f"{bucket}{parts.path}".rstrip("/")
