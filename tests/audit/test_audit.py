"""The audit as a whole: what it finds, what it refuses, that it repeats."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_labels import blobs
from sklearn.metrics import average_precision_score

from dml import audit
from dml.audit import probabilities

pytestmark = pytest.mark.slow


def test_it_finds_the_wrong_labels(noisy, found):
    _, true, given = noisy
    assert average_precision_score(given != true, found.score) > 0.95
    wrong = found.suspects(0.2)
    assert (found.suggested[wrong] == true[wrong]).mean() > 0.9
    assert abs(found.rate.guess - 0.2) < 0.05
    assert f"{found.rate.guess:.3f}" in found.rate.assumption
    assert found.wrong.mean() == pytest.approx(found.rate.guess, abs=1e-6)


def test_the_tables(noisy, found, tmp_path):
    _, _, given = noisy
    table = found.table()
    assert list(table.columns) == ["index", "given", "suggested", "score", "wrong", "own", "vote", "suspect"]
    assert table["suspect"].sum() == round(found.rate.guess * 600)
    assert table.loc[table["suspect"], "score"].min() >= table.loc[~table["suspect"], "score"].max()
    classes, pairs = found.classes(), found.confusions()
    assert classes["images"].tolist() == np.bincount(given).tolist()
    assert classes["suspects"].sum() == table["suspect"].sum()
    expected = pd.crosstab(table["given"][table["suspect"]], table["suggested"][table["suspect"]])
    for row in pairs.itertuples():
        assert row.count == expected.loc[row.given, row.suggested]


def test_a_class_without_a_suggestion_leaves_the_others_suggestions_as_they_are(found):
    alike = replace(found, suggested=np.where(found.labels == 0, found.labels, found.suggested))
    names = alike.classes()["confused_with"].map(str)
    assert names[0] == "None"
    assert names[1:].str.isdigit().all()


def same(first: audit.Audit, second: audit.Audit) -> bool:
    return (
        np.array_equal(first.score, second.score, equal_nan=True)
        and first.rate == second.rate
        and first.losses == second.losses
        and first.duplicates.equals(second.duplicates)
        and np.array_equal(first.suggested, second.suggested)
    )


def test_it_repeats_and_another_seed_differs(noisy, found):
    vectors, _, given = noisy
    assert same(found, audit.audit(vectors, given))
    assert not same(found, audit.audit(vectors, given, seed=1))


def test_the_second_round_learns_from_unsuspected_images_alone(noisy, monkeypatch):
    vectors, _, given = noisy
    trained = []
    real = probabilities.Representation.round
    monkeypatch.setattr(
        probabilities.Representation, "round", lambda self, kept: trained.append(kept.copy()) or real(self, kept)
    )
    found = audit.audit(vectors, given)
    assert trained[0].all()
    left_out = ~trained[1]
    assert left_out.sum() == pytest.approx(found.rate.guess * len(given), rel=0.5)
    assert np.mean((given != noisy[1])[left_out]) > 0.8


def test_small_classes_are_beyond_judgement(noisy):
    vectors, _, given = noisy
    given = given.copy()
    given[0], given[1], given[2] = 77, 88, 88
    found = audit.audit(vectors, given)
    assert found.beyond == {77: 1, 88: 2}
    assert np.isnan(found.score[:3]).all()
    assert np.isfinite(found.score[3:]).all()
    assert found.suggested[:3].tolist() == [77, 88, 88]
    assert not found.suspects(1.0)[:3].any()
    assert not np.isin(audit.review_plan(found, 200).rows, [0, 1, 2]).any()


def test_contradicting_duplicates_are_listed():
    vectors, _, given = blobs(rate=0.0)
    vectors[7] = vectors[6] * 3  # the same direction, another class
    vectors[20] = vectors[14]  # equal, the same class
    vectors[33] = vectors[31]  # equal, another class
    found = audit.audit(vectors, given)
    pairs = found.duplicates
    assert list(zip(pairs["first"], pairs["second"], strict=True)) == [(6, 7), (31, 33)]
    assert pairs["given_first"].tolist() == [given[6], given[31]]
    assert (pairs["similarity"] > 0.999).all()
