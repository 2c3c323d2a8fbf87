"""A plan that is saved and loaded: the same again, and one message for a file that is broken or missing."""

import numpy as np
import pytest

from dml import audit


def test_a_plan_is_the_same_after_it_was_saved(found, tmp_path):
    plan = audit.review_plan(found, 50)
    plan.save(tmp_path)
    again = audit.ReviewPlan.load(tmp_path)
    for name in ("rows", "stratum", "sizes", "expected", "given", "suggested"):
        assert np.array_equal(getattr(again, name), getattr(plan, name)), name
    assert again.digest == plan.digest
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace('"digest"', '"gone"'))
    with pytest.raises(ValueError, match=r"plan\.json: expected the plan .*'digest'"):
        audit.ReviewPlan.load(tmp_path)
    path.unlink()
    with pytest.raises(ValueError, match=r"plan\.json: expected the plan"):
        audit.ReviewPlan.load(tmp_path)
