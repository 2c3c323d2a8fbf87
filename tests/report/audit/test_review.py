"""What the review mode is given."""

import json

import numpy as np

from dml.audit import page as review_mode
from dml.audit.pictures import album


def payload(bars, review=None):
    chosen = review_mode.class_examples(bars.found, bars.plan)
    small = [row for rows in chosen.values() for row in rows]
    pictures = album(lambda rows: bars.images[rows], bars.plan.rows.tolist(), [], small)
    return review_mode.payload(bars.found, bars.plan, chosen, pictures, lambda row: bars.paths[row], review)


def test_the_looks_are_the_plan_in_its_order(bars):
    given = json.loads(json.dumps(payload(bars)))
    assert [look["index"] for look in given["looks"]] == bars.plan.rows.tolist()
    assert [look["given"] for look in given["looks"]] == bars.plan.given.tolist()
    assert [look["path"] for look in given["looks"]] == [bars.paths[row] for row in bars.plan.rows]
    assert given["audit"] == bars.plan.digest
    assert all(look["picture"].startswith("data:image/") for look in given["looks"])


def test_nothing_tells_the_stratum_or_the_score(bars):
    given = payload(bars)
    assert set(given) == {"audit", "key", "looks", "examples", "classes", "earlier"}
    assert set(given["looks"][0]) == {"index", "path", "given", "suggested", "picture"}


def test_examples_have_the_class_are_trusted_and_are_not_in_the_plan(bars):
    chosen = review_mode.class_examples(bars.found, bars.plan)
    assert set(chosen) == set(bars.plan.given.tolist())
    for given, rows in chosen.items():
        members = np.flatnonzero(bars.labels == given)
        assert 2 <= len(rows) <= review_mode.EXAMPLES
        assert set(rows) <= set(members.tolist()) - set(bars.plan.rows.tolist())
        assert not bars.wrong[rows].any()
        assert bars.found.score[rows].max() <= np.quantile(bars.found.score[members], 0.6)
    assert chosen == review_mode.class_examples(bars.found, bars.plan)
