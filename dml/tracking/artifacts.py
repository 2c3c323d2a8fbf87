"""Files of a study as MLflow's UI can show them."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pandas as pd

LARGEST = 64 * 2**20  # bytes; larger files stay on disk only
LONG = ["curve", "diagnostics"]  # columns


def contents(name: str, path: Path) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of the artifacts that show a file: a page with its figures inside, a Parquet table also as CSV."""
    if not path.is_file() or path.stat().st_size > LARGEST:
        return
    yield name, self_contained(path).encode() if path.suffix == ".html" else path.read_bytes()
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path).drop(columns=LONG, errors="ignore")
        yield f"{name.removesuffix('.parquet')}.csv", frame.to_csv(index=False).encode()


def self_contained(page: Path) -> str:
    """The page with its images, styles and scripts inside, and without its links to other files of the report."""
    text = page.read_text(encoding="utf-8")
    linked = r'(\bsrc|\bsrcset|<link rel="stylesheet" href)="([^"]+)"'
    text = re.sub(linked, lambda match: _inlined(page, match), text)
    return re.sub(r'(<a\b[^>]*?)\s+href="(?!#|[a-z]+:)[^"]*"', r"\1", text)


def _inlined(page: Path, match: re.Match[str]) -> str:
    path = page.parent / unquote(match[2])
    if re.match(r"[a-z]+:", match[2]) or not path.is_file():
        return match[0]
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f'{match[1]}="data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"'
