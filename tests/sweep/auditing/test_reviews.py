"""Reviews that people bring: what belongs to an audit is taken in, and anything else is one message."""

import numpy as np
import pandas as pd
import pytest

from dml import audit
from dml.audit import study

pytestmark = pytest.mark.slow


@pytest.fixture
def audited(tmp_path):
    """The folder of an audit of 60 images of three kinds, and the answers of a person."""
    generator = np.random.default_rng(0)
    labels = np.array(["ant", "bee", "cat"]).repeat(20)
    found = audit.audit(generator.normal(size=(60, 4)) + 3 * np.eye(3, 4).repeat(20, axis=0), labels)
    plan = audit.review_plan(found, 12)
    plan.save(tmp_path / "done")
    found.table().to_csv(tmp_path / "done/audit.csv", index=False)
    paths = [f"{label}/{number}.png" for number, label in enumerate(labels)]
    rows = plan.rows.tolist()
    table = {
        "index": rows,
        "answer": "right",
        "given": plan.given,
        "path": [paths[r] for r in rows],
        "label": "",
        "audit": plan.digest,
    }
    answers = pd.DataFrame(table)
    answers.loc[0, ["answer", "label"]] = "wrong", "cat"
    return tmp_path, answers, found


def take(audited, answers, **options):
    folder, *_ = audited
    answers.to_csv(folder / "mine.csv", index=False, **options)
    return study.take_in(folder / "asking", folder / "mine.csv", folder / "done")


def test_a_review_is_kept_with_its_plan(audited):
    folder, answers, found = audited
    estimate = take(audited, answers)
    assert estimate.looks == 12
    kept = study.taken(folder / "asking", found)
    assert kept is not None
    assert kept.estimate == estimate
    assert kept.answers.loc[0, "label"] == "cat"


def test_answers_stay_that_a_later_review_lacks(audited, capsys):
    folder, answers, found = audited
    take(audited, answers)
    fewer = answers.iloc[[0, 5]].assign(answer="unsure", label="")
    estimate = take(audited, fewer)
    assert (estimate.looks, estimate.unsure) == (10, 2)
    assert "10 answers of the review before" in capsys.readouterr().out
    kept = study.taken(folder / "asking", found).answers.set_index("index")["answer"]
    expected = answers.set_index("index")["answer"]
    expected.update(fewer.set_index("index")["answer"])
    assert kept.sort_index().to_dict() == expected.sort_index().to_dict()


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("answer", "maybe", "expected one of right, wrong, unsure, got 'maybe'"),
        ("index", "x", "row 2: index is 'x', expected an integer"),
        ("index", "9" * 23, "row 2: index is '9+', expected an integer"),
        ("index", 61, "image 61 is not in the review plan: is it a review of another audit"),
        ("given", "dog", "but 'dog' in the review: is it a review of another dataset, or an edited one"),
        ("audit", "0123", "a review of another audit .* its digest is 0123, expected"),
        ("label", "kat", "label: 'kat' is no class; did you mean 'cat'"),
    ],
)
def test_what_does_not_belong_is_refused_and_nothing_is_written(audited, column, value, expected):
    folder, answers, _ = audited
    answers[column] = answers[column].astype(object)
    answers.loc[0, column] = value
    with pytest.raises(ValueError, match=rf"mine\.csv: .*{expected}"):
        take(audited, answers)
    assert not (folder / "asking").exists()
