"""Files at a URI that all nodes of a cluster can read: S3, Google Cloud Storage, HDFS, or a mounted folder (`file://`).

A request that gets no answer is repeated for `DML_STORAGE_PATIENCE` seconds (600).
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from pyarrow import fs

from dml.files import is_disk_full

ERRNO = errno.EREMOTEIO  # by which a trial's outcome says that the storage failed, not the trial
UNANSWERED = (
    r"NETWORK_CONNECTION|curlCode|SLOW_DOWN|SlowDown|THROTTL|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|InternalError"
    r"|REQUEST_TIMEOUT|HTTP status 5\d\d"
)
REFUSED = (
    r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY_ID|INVALID_SIGNATURE|INVALID_CLIENT_TOKEN|EXPIRED_TOKEN"
    r"|InvalidAccessKeyId|AccessDenied|ExpiredToken|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION|HTTP status 40[13]"
)
REMEDIES = {
    r"TIME_TOO_SKEWED|TimeTooSkewed|REQUEST_EXPIRED|RequestExpired": "it refuses requests because this machine's clock "
    "differs too much from its own. Set the clocks (NTP)",
    REFUSED: "it refuses the credentials of this machine. Expected: keys that may list, read, write and delete there. "
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws, on every node",
    r"NO_SUCH_BUCKET|Bucket '.*' not found": "the bucket does not exist there. Create it, or name an existing one",
    UNANSWERED: "it does not answer. Start it, or correct the address (AWS_ENDPOINT_URL, or "
    "?endpoint_override=host:port in the URI), and run this again: finished work is kept",
}
"""What Arrow's errors contain, whose text is the server's answer: what is wrong, and what to do."""
SHOWN = 300  # characters of the server's answer

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 30.0  # without a byte; the library's default of 3 s fails on servers that are only slow
OPTIONS = ("endpoint_override", "region", "scheme")
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # as for the AWS command line and boto3
PATIENCE_SECONDS = 600.0  # for a storage that does not answer while a sweep runs
START_SECONDS = 10.0  # for one that does not answer before anything has run
RETRY_SECONDS = (0.5, 10.0)  # the first and the longest wait for an answer
PART = 8 * 2**20  # bytes that are read at once
RESULT = "result.json"
LAST = (RESULT, "failed.json")  # written once everything else is there
FOLDERS = ("local", "hdfs")  # whose folders must be created before a file is written

T = TypeVar("T")


class StorageError(OSError):
    """The storage cannot be used. The message is complete. `transient`: it may answer later."""

    def __init__(self, message: str, transient: bool = False):
        super().__init__(message)
        self.errno, self.transient = ERRNO, transient

    def __str__(self) -> str:
        return str(self.args[0])


class Remote:
    """A folder at a URI."""

    def __init__(self, uri: str, patience: float | None = None):
        self.uri = uri
        self._files, self._root = open_filesystem(uri)
        given = float(os.environ.get("DML_STORAGE_PATIENCE", PATIENCE_SECONDS))
        self._patience = given if patience is None else patience

    @cached_property
    def where(self) -> str:
        """The setting, for messages."""
        server = endpoint(self.uri)
        shown = self.uri.rpartition("@")[2]  # never a key
        return f"resources.storage {shown!r}{f' at {server}' if server else ''}"

    def check(self) -> None:
        """Write a small file, read it back and delete it. Raises StorageError with what is wrong and what to do."""
        name, content = f".check-{platform.node()}-{os.getpid()}", b"dml"
        with self.impatient():
            self._write(name, lambda file: file.write(content))
            if self.read(name) != content:
                raise StorageError(f"{self.where}: it does not keep what is written")
            self.delete_file(name)

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
        files = self._try(lambda: self._files.get_file_info(selector))
        return {info.path[len(base) :].lstrip("/"): info.size or 0 for info in files if info.type == fs.FileType.File}

    def read(self, name: str) -> bytes | None:
        """A small file's content; None if it does not exist."""

        def read() -> bytes:
            with self._files.open_input_stream(f"{self._root}/{name}") as file:
                return file.read()

        return self._try(lambda: _unless_missing(read))

    def read_json(self, name: str) -> Any:
        """A small JSON file's content; None if it is missing or damaged."""
        with suppress(ValueError):
            return json.loads(self.read(name) or b"null")
        return None

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
        """Copy a local folder's files below `target`, the outcome last, and delete those there that it lacks.

        Does nothing if another machine has finished the trial and this one has not.
        """
        files = {path.relative_to(source).as_posix(): path for path in sorted(source.rglob("*")) if path.is_file()}
        files = {name: path for name, path in files.items() if path.name != "lock" and not path.name.startswith(".")}
        there = self.list(target).keys()
        if RESULT in there and RESULT not in files:
            return
        for name in sorted(files, key=lambda name: name in LAST):
            self._write(f"{target}/{name}", partial(_copy, files[name]))
        for name in there - files.keys():
            self.delete_file(f"{target}/{name}")

    def delete_file(self, name: str) -> None:
        """Delete a file. Does nothing if it does not exist."""
        self._try(lambda: _unless_missing(lambda: self._files.delete_file(f"{self._root}/{name}")))

    def _write(self, name: str, fill: Callable[[Any], object]) -> None:
        path = f"{self._root}/{name}"
        if self._files.type_name in FOLDERS:
            self._try(lambda: self._files.create_dir(path.rpartition("/")[0], recursive=True))

        def write() -> None:
            with self._files.open_output_stream(path) as file:
                fill(file)

        self._try(write)

    def _try(self, request: Callable[[], T]) -> T:
        """Send a request until it is answered."""
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


def _unless_missing(request: Callable[[], T]) -> T | None:
    """The answer to a request; None if the file does not exist."""
    with suppress(FileNotFoundError):
        return request()
    return None


def _copy(path: Path, target: Any) -> None:
    """Not by `fs.copy_files`, which ignores an error that comes with the last part."""
    with open(path, "rb") as source:
        shutil.copyfileobj(source, target, PART)


def explained(where: str, error: Exception) -> StorageError:
    """The error of a request to a storage with its remedy."""
    answer = " ".join(str(error).split())
    pattern = next((pattern for pattern in REMEDIES if re.search(pattern, answer)), "")
    what = REMEDIES.get(pattern, "a request failed")
    shown = answer if len(answer) <= SHOWN else f"{answer[:SHOWN]}..."
    return StorageError(f"{where}: {what}. It said: {shown}", transient=pattern == UNANSWERED)


def open_filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a URI, and the path in it.

    Credentials are those that AWS's own tools find (`AWS_ACCESS_KEY_ID` and so on, `~/.aws`, the instance's role).
    """
    try:
        return _s3(uri) if uri.startswith("s3://") else fs.FileSystem.from_uri(uri)
    except Exception as error:
        raise ValueError(f"resources.storage {uri!r}: {error}; expected s3://, gs://, hdfs:// or file://") from error


def endpoint(uri: str) -> str:
    """The server that an S3 URI or the environment names instead of AWS; empty for AWS and for other URIs."""
    if not uri.startswith("s3://"):
        return ""
    named = dict(parse_qsl(urlsplit(uri).query)).get("endpoint_override")
    return named or next((value for name in ENDPOINTS if (value := os.environ.get(name))), "")


def _s3(uri: str) -> tuple[fs.FileSystem, str]:
    parts = urlsplit(uri)
    options: dict[str, str] = dict(parse_qsl(parts.query))
    if unknown := sorted(set(options) - set(OPTIONS)):
        raise ValueError(f"unknown options {', '.join(unknown)}; choices: {', '.join(OPTIONS)}")
    bucket = parts.netloc.rpartition("@")[2]
    if not bucket:
        raise ValueError("it names no bucket: s3://bucket/folder")
    if parts.username:
        options |= {"access_key": unquote(parts.username), "secret_key": unquote(parts.password or "")}
    if server := endpoint(uri):
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
