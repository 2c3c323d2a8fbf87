"""A process that trains keeps the memory of freed arrays."""

import subprocess
import sys

import pytest

CODE = """
import resource, torch
from dml.training.allocator import keep_freed_memory
assert KEEP is False or keep_freed_memory()
def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20): torch.empty(25_000_000).fill_(1)
before = faults()
for _ in range(5): torch.empty(25_000_000).fill_(1)
print(faults() - before)
"""


def page_faults(keep: bool) -> int:
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("KEEP", str(keep))], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_freed_arrays_are_used_again_without_page_faults():
    assert page_faults(keep=True) < page_faults(keep=False) / 10
