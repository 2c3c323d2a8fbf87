"""A recommendation's intervals and p are those of the page, whatever they cover."""

import numpy as np
import pandas as pd
import pytest
from synthetic import KEY

from dml.cli.recommendation_text import recommendation_text
from dml.report.analysis.intervals import interval_sources
from dml.report.analysis.paired import versus_winner
from dml.report.recommendation import recommend

COUNTS = np.arange(5, 35)
METHODS = ["random", "easy", "all"]


@pytest.fixture
def study_of(synthetic, loaded, tmp_path):
    """The results of a study whose intervals cover what is asked for: three methods, at the noise rates 0 and 0.4."""

    def noisy(frame, spread=0.02):
        draw, confirmed = np.random.default_rng(1), frame["phase"] == "confirm"
        frame.loc[confirmed, KEY] = 0.5 + spread * draw.standard_normal(confirmed.sum())
        return frame

    def of_classes(frame):
        return synthetic.with_classes(synthetic.only_confirmed(frame), tmp_path, KEY, COUNTS)

    def of_splits(frame):
        return noisy(pd.concat([frame.assign(split=i, key=frame["key"] + f"-{i}") for i in range(4)]))

    def made(kind):
        changes, alter = {
            "classes": ({"seeds": [0, 1, 2, 3]}, of_classes),
            "class splits": ({"class_splits": 4, "seeds": [0, 1]}, of_splits),
        }[kind]
        return loaded(synthetic.small(positives=METHODS, **changes), alter)

    return made


@pytest.mark.parametrize("kind", ["classes", "class splits"])
def test_at_a_measured_rate_all_numbers_are_those_of_the_page(study_of, kind):
    results = study_of(kind)
    assert kind in interval_sources(results)
    for rate in (0.0, 0.4):
        found, page = recommend(results, rate), versus_winner(results)
        page = page[page["rate"] == rate].set_index("other")
        best = page.iloc[0]
        assert (found.winner.cell, found.winner.low, found.winner.high) == tuple(
            best[["winner", "winner low", "winner high"]]
        )
        assert len(found.methods) == 1 + len(page) == 3
        for rival in found.methods[1:]:
            own = page.loc[rival.cell, ["difference", "low", "high", "p adjusted"]]
            assert (rival.behind, rival.behind_low, rival.behind_high, rival.p) == tuple(own)
        assert f"intervals cover {interval_sources(results)}" in recommendation_text(found, "given", [])
    assert found.block == ("class split" if kind == "class splits" else "seed")
