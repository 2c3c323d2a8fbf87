"""Faster allocation of large arrays on a CPU.

glibc returns large freed blocks to the kernel. The next step's arrays then need new zeroed pages, and a training step
can take up to twice as long. A process that trains keeps these blocks instead.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # parameter numbers of mallopt, from malloc.h
KEPT = 2**30  # bytes of free memory that stay at the end of the heap
LARGEST = (2**30, 2**25)  # bytes of the largest array on the heap: the value we want, and the limit of older glibc


def keep_freed_memory() -> bool:
    """Let this process keep up to 1 GiB of freed memory. Returns False if the C library cannot (only glibc can)."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(TRIM_THRESHOLD, KEPT)) and any(mallopt(MMAP_THRESHOLD, size) for size in LARGEST)
