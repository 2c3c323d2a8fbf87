"""A process that trains keeps the memory of freed arrays."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

CODE = """
import resource, torch
from dml.training.process import keep_freed_memory

def page_faults():
    for _ in range(20): torch.empty(10_000_000).fill_(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5): torch.empty(10_000_000).fill_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

usual = page_faults()
assert keep_freed_memory()
print(usual, page_faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_freed_arrays_are_reused_without_page_faults():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    usual, kept = map(int, done.stdout.split())
    assert kept < usual / 10
