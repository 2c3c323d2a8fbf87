"""Packing: a source's images, decoded and resized once, become one uint8 array that every process maps.

After `pack(dml.data.sources.build("mnist"), raw, out, resize=32)`, `open_packed(out).images` is uint8 (n, H, W, C).
"""

from __future__ import annotations

from dml.data.packing.listing import ProgressLine
from dml.data.packing.opening import Packed, check_content, content_digest, open_packed
from dml.data.packing.packer import of_vectors, pack, packed_id

__all__ = [
    "Packed",
    "ProgressLine",
    "check_content",
    "content_digest",
    "of_vectors",
    "open_packed",
    "pack",
    "packed_id",
]
