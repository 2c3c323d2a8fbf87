"""What intervals cover, on pages and by a bootstrap of whole classes."""

import class_splits
import numpy as np
import pandas as pd
import pytest
from class_splits import class_interval
from synthetic import KEY, of_study, only_confirmed

from dml import statistics
from dml.config import DatasetSection, SearchSection
from dml.report.analysis.intervals import (
    CLASSES,
    SEEDS,
    class_term,
    class_terms,
    interval_sources,
    seed_interval,
    weighted_interval,
)
from dml.report.analysis.paired import versus_winner
from dml.report.assembly import figure_arrays
from dml.report.sections.winners import winners

pytestmark = pytest.mark.slow

COUNTS = np.arange(5, 35)


@pytest.fixture
def results(synthetic, loaded, tmp_path):
    """Two methods at one rate, whose confirmed trials left the scores of 30 classes; the score is their mean."""
    study = synthetic.small(noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3])
    return loaded(study, lambda frame: synthetic.with_classes(only_confirmed(frame), tmp_path, KEY, COUNTS))


def of_classes(means):
    """The estimate of means (S, C) of classes that have `COUNTS` queries."""
    return seed_interval(pd.Series(means @ COUNTS / COUNTS.sum()), [class_term(means.mean(axis=0), COUNTS)], [])


def read(results, tmp_path, name):
    rows = results.confirmed_of(name)
    return 100 * np.stack([np.load(tmp_path / f"store/trials/{key}/classes.npz")[KEY] for key in rows["key"]])


def test_intervals_of_a_score_and_of_a_difference_cover_seeds_and_classes(results, tmp_path):
    assert interval_sources(results) == CLASSES
    row = versus_winner(results).iloc[0]
    first, second = (read(results, tmp_path, row[name]) for name in ("winner", "other"))
    own, apart = of_classes(first), of_classes(first - second)
    assert (row["winner mean"], row["difference"]) == pytest.approx((own.mean, apart.mean), abs=1e-3)
    shown = (row["winner low"], row["winner high"], row["low"], row["high"])
    assert shown == pytest.approx((own.low, own.high, apart.low, apart.high), abs=0.02)  # kept as float16
    assert row["p"] == pytest.approx(apart.p, rel=0.05)
    assert apart.high - apart.low < 0.5 * (own.high - own.low), "paired by class"
    assert "Intervals cover seeds and classes." in winners(results).caption
    assert "They are of one class split" in winners(results).caption
    fixed = of_study(results, search=SearchSection(sampler="fixed"))
    assert "one class split" not in winners(fixed).caption, "nothing is searched"


def test_seeds_that_choose_the_test_classes_cover_them(synthetic, loaded, tmp_path):
    study = synthetic.small(noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3])
    chosen = loaded(study, lambda frame: synthetic.with_classes(only_confirmed(frame), tmp_path, KEY, COUNTS, 1))
    assert (interval_sources(chosen), class_terms(chosen, KEY, dict.fromkeys(chosen.cells, 1.0))) == (SEEDS, [])


def test_each_dataset_has_test_classes_of_its_own(synthetic, loaded, tmp_path):
    datasets = [DatasetSection(name=name) for name in ("digits", "mnist")]
    study = synthetic.small(datasets=datasets, noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3])
    results = loaded(study, lambda frame: synthetic.with_classes(only_confirmed(frame), tmp_path, KEY, COUNTS))
    weights = {name: 1.0 if cell.dataset == "digits" else -1.0 for name, cell in results.cells.items()}
    (own,) = class_terms(results, KEY, {name: weight for name, weight in weights.items() if weight > 0})
    assert sum(term.variance for term in class_terms(results, KEY, weights)) == pytest.approx(2 * own.variance, rel=0.1)


def test_scores_beside_the_objective_have_classes_in_their_intervals_too(results, tmp_path):
    ordered = of_study(results, search=SearchSection(objective="map@r"))
    assert (interval_sources(ordered), interval_sources(ordered, KEY)) == (SEEDS, CLASSES)
    assert len({weighted_interval(one, KEY, {next(iter(results.cells)): 1.0}) for one in (ordered, results)}) == 1
    kept = figure_arrays(ordered.study, tmp_path / "results" / ordered.study.name, tmp_path / "store")
    assert any(f"/{KEY}/" in name for name in kept), "published"


def test_trials_reused_from_a_snapshot_keep_its_scores_of_classes(results, tmp_path):
    """A sweep that reuses a published trial stores no scores of its classes."""
    study, folder = results.study, tmp_path / "results" / results.study.name
    first = figure_arrays(study, folder, tmp_path / "store")
    (tmp_path / "store/trials" / results.confirmed["key"].iloc[0] / "classes.npz").unlink()
    assert len(figure_arrays(study, folder, tmp_path / "store")) < len(first)
    again = figure_arrays(study, folder, tmp_path / "store", first)
    assert again.keys() == first.keys()
    assert all(np.array_equal(again[name], first[name]) for name in first)


def test_the_variance_of_classes_is_that_of_a_bootstrap_of_whole_classes():
    scores, labels = next(class_splits.draw(np.random.default_rng(3), (1, 2, 60), (0, 5, 0, 0, 10)))
    interval = class_interval(scores, labels)
    of_class = {c: scores[:, labels == c].mean(axis=0) for c in range(60)}
    draw = np.random.default_rng(0)
    means = [np.concatenate([of_class[c] for c in draw.integers(60, size=60)]).mean() for _ in range(4000)]
    of_seeds = scores.mean(axis=1).var(ddof=1) / 2
    error = (np.var(means) * 60 / 59 + of_seeds) ** 0.5
    assert interval.mean == pytest.approx(scores.mean())
    assert (interval.high - interval.low) / 2 >= 1.96 * error * 0.97
    narrower = class_interval(scores[[0, 0]], labels)  # no spread over seeds
    alone = [np.concatenate([scores[0, labels == c] for c in draw.integers(60, size=60)]).mean() for _ in range(4000)]
    assert (narrower.high - narrower.low) / 2 == pytest.approx(2.0 * np.std(alone), rel=0.05)  # t of 59: 2.0


def test_the_interval_is_never_narrower_than_over_seeds():
    for seed in range(50):
        scores, labels = next(class_splits.draw(np.random.default_rng(seed), (1, 3, 20), (0, 1, 3, 1, 5)))
        interval, seeds = class_interval(scores, labels), statistics.summary(scores.mean(axis=1))
        assert interval.low <= seeds.low + 1e-9
        assert interval.high >= seeds.high - 1e-9
        assert interval.p >= statistics.paired_t(scores.mean(axis=1)) - 1e-12
