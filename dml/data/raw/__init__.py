"""Raw files: download and verify archives, unpack them safely, walk the folders."""

from __future__ import annotations

from dml.data.raw.download import Archive, checksum, extract, fetch
from dml.data.raw.walking import (
    ImageFiles,
    check_text,
    content_of,
    files_below,
    image_files,
    is_hidden,
    is_image,
    state_of,
)
from dml.files import check_space

__all__ = [
    "Archive",
    "ImageFiles",
    "check_space",
    "check_text",
    "checksum",
    "content_of",
    "extract",
    "fetch",
    "files_below",
    "image_files",
    "is_hidden",
    "is_image",
    "state_of",
]
