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


@pytest.mark.parametrize("name", ["audit", "plan"])
def test_a_file_that_is_missing_or_lacks_a_key(saved, name):
    kind, path = {"audit": audit.Audit, "plan": audit.ReviewPlan}[name], saved / f"{name}.json"
    path.write_text(path.read_text().replace('"digest"', '"gone"'))
    with pytest.raises(ValueError, match=rf"{name}\.json.*broken .*'digest'"):
        kind.load(saved)
    path.unlink()
    with pytest.raises(ValueError, match=rf"{name}\.json: there is no such file"):
        kind.load(saved)
