"""Raw files: download and verify archives, unpack them safely, walk the folders."""

from __future__ import annotations

from dml.data.raw.archives import extract
from dml.data.raw.checksums import checksum
from dml.data.raw.download import Archive, fetch
from dml.data.raw.images import ImageFiles, image_files, is_image
from dml.data.raw.space import check_space
from dml.data.raw.walking import check_text, content_of, files_below, is_hidden, state_of

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
