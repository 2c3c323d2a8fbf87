"""Audits and plans that are saved and loaded: the same again, and one message for what is broken or of another kind."""

import pandas as pd
import pytest

from dml import audit


@pytest.fixture
def saved(found, tmp_path):
    found.save(tmp_path)
    audit.review_plan(found, 50).save(tmp_path)
    return tmp_path


def test_an_audit_is_the_same_after_it_was_saved(found, saved):
    again = audit.Audit.load(saved)
    pd.testing.assert_frame_equal(again.table(), found.table())
    pd.testing.assert_frame_equal(again.confusions(), found.confusions())
    pd.testing.assert_frame_equal(again.duplicates, found.duplicates, check_dtype=False)
    assert (again.rate, again.representation, again.digest) == (found.rate, found.representation, found.digest)
    assert (again.losses, again.beyond, again.settings) == (found.losses, found.beyond, found.settings)
    assert sum(path.stat().st_size for path in saved.iterdir()) < 600 * 60  # bytes: 40 an image, and what is constant


def test_a_table_that_is_missing_or_was_changed(saved):
    table = pd.read_parquet(saved / "audit.parquet")
    table.assign(score=0.0).to_parquet(saved / "audit.parquet")
    with pytest.raises(ValueError, match=r"audit\.parquet: the file is not the one that audit\.json was saved with"):
        audit.Audit.load(saved)
    (saved / "audit.parquet").unlink()
    with pytest.raises(ValueError, match=r"audit\.parquet: the file is missing"):
        audit.Audit.load(saved)
