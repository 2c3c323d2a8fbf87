"""Packing: a source's images, decoded and resized once, become one uint8 array that every process maps.

    manifest = pack(dml.data.sources.build("mnist"), raw, out, resize=32)
    packed = open_packed(out)
    packed.images[rows]                                   # uint8 (n, H, W, C)

Packing has one version, `packer.version`, and each source has its own. Golden tests pin the bytes they stand for.
"""

from __future__ import annotations

from dml.data.packing.content import check_content, content_digest
from dml.data.packing.opening import Packed, open_packed
from dml.data.packing.packer import pack, packed_id

__all__ = ["Packed", "check_content", "content_digest", "open_packed", "pack", "packed_id"]
