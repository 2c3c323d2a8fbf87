"""Faster allocation of large arrays on a CPU.

glibc gives large freed blocks back to the kernel, which has to hand out zeroed pages again for the next step's arrays:
a training step on a CPU then takes up to twice as long, or not, as it happens. A process that trains keeps them.
"""

from __future__ import annotations

import ctypes

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # mallopt's numbers, from malloc.h
KEPT = 2**30  # bytes at the heap's end that are not given back
LARGEST = (2**30, 2**25)  # bytes of an array that is kept: what we ask for, and the most that older versions allow


def keep_freed_memory() -> bool:
    """Let this process keep up to 1 GiB that it has freed. Whether the C library can: glibc alone."""
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(TRIM_THRESHOLD, KEPT)) and any(mallopt(MMAP_THRESHOLD, size) for size in LARGEST)
