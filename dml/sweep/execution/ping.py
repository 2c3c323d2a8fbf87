"""Asks within seconds whether a Ray cluster answers: Ray itself waits for two minutes, and then ends the process.

Imports neither Ray nor `dml.config`, for `dml doctor`.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from importlib.util import find_spec
from urllib.parse import urlsplit

SECONDS = 3.0
EXPECTED = "expected HOST:PORT, ray://HOST:PORT, auto (a cluster on this machine) or local"


def problem(address: str) -> str:
    """Why no cluster can be reached at an address; empty if one answers."""
    if address == "local":
        return ""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or "auto"  # as Ray does
    if address == "auto":
        try:
            from ray._private.services import canonicalize_bootstrap_address_or_die

            address = canonicalize_bootstrap_address_or_die("auto")
        except (ImportError, ConnectionError):
            return "no cluster runs on this machine: ray start --head"
    port = None
    with suppress(ValueError):
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = parts.port
    if port is None or not parts.hostname or parts.scheme not in ("", "ray"):
        return EXPECTED
    if parts.scheme == "ray" and find_spec("grpc") is None:
        return "ray:// needs an extra, pip install 'ray[client]'; the head's HOST:PORT does not"
    try:
        socket.create_connection((parts.hostname, port), SECONDS).close()
        return ""
    except OSError as error:
        return f"{parts.hostname}:{port} does not answer ({error})"
