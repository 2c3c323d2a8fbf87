"""What intervals cover, and where the scores of classes are from: trials here, or a snapshot."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from synthetic import KEY, flat, of_study, only_confirmed

from dml import discovery
from dml.config import SearchSection
from dml.report import contents
from dml.report.analysis.interval_coverage import CLASSES, SEEDS, SPLITS, class_term, covers, over_seeds
from dml.report.analysis.paired import versus_winner
from dml.report.figure_data import FigureData
from dml.report.page.blocks import Drawing, Paragraph
from dml.report.page.tables import Table
from dml.report.recording import figure_arrays
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
    return over_seeds(pd.Series(means @ COUNTS / COUNTS.sum()), [class_term(means.mean(axis=0), COUNTS)], [])


def read(results, tmp_path, name):
    rows = results.confirmed_of(name)
    return 100 * np.stack([np.load(tmp_path / f"store/trials/{key}/classes.npz")[KEY] for key in rows["key"]])


def test_intervals_of_a_score_and_of_a_difference_cover_seeds_and_classes(results, tmp_path):
    assert covers(results) == CLASSES
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


def test_a_snapshot_gives_the_same_intervals(results):
    shown = versus_winner(results)
    published = replace(results, store=None, figures=FigureData(results.figures.found))
    assert results.figures.found
    assert versus_winner(published).equals(shown)


def test_without_the_scores_of_each_trial_intervals_cover_seeds(results, tmp_path):
    key = results.confirmed["key"].iloc[-1]
    (tmp_path / "store/trials" / key / "classes.npz").unlink()
    assert covers(results) == SEEDS
    row = versus_winner(results).iloc[0]
    values = results.values(row["winner"], KEY)
    assert row["winner high"] - row["winner low"] == pytest.approx(2 * 3.182 * values.std() / 2, rel=1e-3)


def test_a_method_alone_has_an_interval_and_no_p(synthetic, loaded, tmp_path):
    study = synthetic.small(noise=synthetic.noise([0.0]), seeds=[0, 1, 2, 3], positives=["easy"])
    alone = loaded(study, lambda frame: synthetic.with_classes(only_confirmed(frame), tmp_path, KEY, COUNTS))
    row = versus_winner(alone).iloc[0]
    assert covers(alone) == CLASSES
    assert row["other"] == ""
    assert row["winner low"] < row["winner mean"] < row["winner high"]
    assert np.isnan(row["p"])


def test_class_splits_cover_all(synthetic, loaded):
    assert covers(loaded(synthetic.small(class_splits=2))) == SPLITS


def test_captions_of_a_study_with_class_splits_speak_of_them(synthetic, loaded):
    """No caption, column or text of a section says that it is over seeds."""
    study = synthetic.study(class_splits=3, noise=synthetic.noise([0.0, 0.4]))

    def alter(frame):
        return pd.concat([frame.assign(split=i, key=frame["key"] + f"-{i}") for i in range(3)])

    results = loaded(study, alter)
    sections = [discovery.build("dml.report.sections", name) for name in contents.STUDY]
    said = [text for own in sections if own.applies(results) for text in texts(own.content(results))]
    assert any("Mean over class splits" in text for text in said)
    assert any("paired over class splits" in text for text in said)
    for text in said:
        assert not re.search(r"(over|by|single) (the )?seeds?\b|\bSeeds\b|seed by seed", text), text


def texts(blocks):
    for block in flat(blocks):
        if isinstance(block, Table | Drawing):
            yield block.caption
        if isinstance(block, Table):
            yield from (f"{column.label} {column.note}" for column in block.columns)
        elif isinstance(block, Paragraph):
            yield block.text


def test_trials_reused_from_a_snapshot_keep_its_scores_of_classes(results, tmp_path):
    """A sweep that reuses a published trial stores no scores of its classes."""
    study, folder = results.study, tmp_path / "results" / results.study.name
    first = figure_arrays(study, folder, tmp_path / "store", tmp_path)
    (tmp_path / "store/trials" / results.confirmed["key"].iloc[0] / "classes.npz").unlink()
    assert len(figure_arrays(study, folder, tmp_path / "store", tmp_path)) < len(first)
    again = figure_arrays(study, folder, tmp_path / "store", tmp_path, first)
    assert again.keys() == first.keys()
    assert all(np.array_equal(again[name], first[name]) for name in first)
