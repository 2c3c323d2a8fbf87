"""Pages of studies with very many cells: the work for a cell does not grow with the number of cells."""

from collections import Counter

import pandas as pd
import pytest

from dml import discovery
from dml.report import assembly

pytestmark = pytest.mark.slow

READS = 30  # of a whole table by one section, for whatever number of cells


@pytest.fixture
def large(synthetic):
    """A study of 96 cells in which each section on tables of cells applies."""
    changes = {"losses": ["triplet", "margin", "contrastive", "histogram"], "positives": ["random", "easy", "hard"]}
    negatives = ["random", "semihard_random", "hard", "all"]
    return synthetic.study("large", noise=synthetic.noise([0.0, 0.4]), negatives=negatives, seeds=[0, 1], **changes)


def test_no_section_reads_a_whole_table_for_each_cell(large, loaded):
    reads: Counter[str] = Counter()
    section = "loading"

    class Counted(pd.DataFrame):
        """Counts its reads; what is read from it is a usual frame."""

        def __getitem__(self, key):
            reads[section] += 1
            return pd.DataFrame(self, copy=False)[key]

    results = loaded(large)
    for name in ("trials", "confirmed", "tuned"):
        results.__dict__[name] = Counted(getattr(results, name))
    applied = []
    for section in assembly.STUDY:
        made = discovery.build(assembly.PACKAGE, section)
        if made.applies(results):
            assert list(made.content(results))
            applied.append(section)
    assert {"winners", "all_results", "settings", "training_log"} <= set(applied)
    assert len(large.cells()) > READS
    assert max(reads.values()) <= READS, reads
