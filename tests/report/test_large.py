"""Pages of studies with very many cells: the work for a cell does not grow with the number of cells."""

import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from dml import discovery
from dml.config import load_study
from dml.report import contents

pytestmark = pytest.mark.slow

JOINT = Path(__file__).parents[1] / "studies" / "joint-digits.yaml"
READS = 30  # of a whole table by one section, for whatever number of cells
SECONDS = 90  # of CPU for 1,146 cells: it takes 10 to 45, by machine and by what runs beside it


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
    for section in contents.STUDY:
        made = discovery.build("dml.report.sections", section)
        if made.applies(results):
            assert list(made.content(results))
            applied.append(section)
    assert {"winners", "all_results", "negative_skew", "settings", "training_log"} <= set(applied)
    assert len(large.cells()) > READS
    assert max(reads.values()) <= READS, reads


def test_the_page_of_a_thousand_cells_takes_seconds(synthetic, built):
    study = load_study(JOINT)
    start = time.process_time()
    page = built(study)
    assert f"{len(study.cells()):,}" in page
    assert time.process_time() - start < SECONDS
