"""Opens the file system of a storage's URI: S3 with time-outs that suit slow servers, everything else as Arrow does."""

from __future__ import annotations

import os
from urllib.parse import parse_qsl, unquote, urlsplit

from pyarrow import fs

CONNECT_SECONDS = 10.0
SILENT_SECONDS = 30.0  # without a byte; the library's default of 3 s fails on servers that are only slow
OPTIONS = ("endpoint_override", "region", "scheme")
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")  # as for the AWS command line and boto3
EXPECTED = "expected s3://, gs://, hdfs:// or file://"


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
