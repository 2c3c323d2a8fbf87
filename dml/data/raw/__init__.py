"""Raw files: download and verify archives, unpack them safely, walk the folders."""

from __future__ import annotations

from dml.data.raw.download import Archive, fetch
from dml.data.raw.walking import ImageFiles, check_text, files_below, image_files, is_hidden, is_image, state_of

__all__ = [
    "Archive",
    "ImageFiles",
    "check_text",
    "fetch",
    "files_below",
    "image_files",
    "is_hidden",
    "is_image",
    "state_of",
]
