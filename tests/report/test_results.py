"""How methods are told apart, and what the report reads of a trial."""

from pathlib import Path

import pandas as pd
import pytest

from dml.config import load_study
from dml.report.methods import method_of, shared_settings
from dml.report.results import Results
from dml.report.sections._rows import identity, identity_columns
from dml.types import Cell, Part


def test_a_loss_shows_the_settings_in_which_its_variants_differ():
    losses = [
        Part("triplet", {"margin": 0.2, "reduction": "mean"}),
        Part("triplet", {"margin": 0.2, "reduction": "mean", "synthesis": "loop"}),
        Part("margin", {"beta": 1.4}),
        Part("info_nce", {}),
        Part("info_nce", {"memory": {"size": 1500, "warm_up": 20}}),
    ]
    shared = shared_settings(losses)
    assert shared == {"triplet": {"margin": 0.2, "reduction": "mean"}, "margin": {"beta": 1.4}, "info_nce": {}}
    cells = [Cell("digits", "uniform", 0.0, loss, "easy", "hard") for loss in losses]
    names = [method_of(cell, {}, shared[cell.loss.name]).loss for cell in cells]
    assert names[:4] == ["triplet", "triplet(synthesis=loop)", "margin", "info_nce"]
    assert names[4:] == ["info_nce(memory size 1500, warm_up 20)"]


@pytest.mark.parametrize(("last", "shown"), [(0.8125, False), (0.8, True)])
def test_more_clusters_than_images_are_no_score(synthetic, loaded, last, shown):
    """Each image is then its own cluster, whatever the embeddings are. Any other metric may be the same everywhere."""

    def alter(frame):
        frame = frame[frame["phase"] == "confirm"].copy()
        frame["test/fine/nmi+"] = [*[0.8125] * (len(frame) - 1), last]
        return frame.assign(**{"test/fine/recall@1": 1.0})

    results = loaded(synthetic.small(evaluation=synthetic.evaluation(["recall@1", "nmi+"], ["test"])), alter)
    assert ("test/fine/nmi+" in results.score_keys) is shown
    assert "test/fine/recall@1" in results.score_keys


PEOPLE = Path(__file__).parents[1] / "studies" / "human-fine.yaml"


def test_methods_tables_and_captions_name_the_filter():
    results = Results(load_study(PEOPLE), pd.DataFrame())
    plain, filtered = (
        f"cifar100|given-0.365|triplet|easy+semihard_random{end}" for end in ("", "|filter=prism(memory=4000)")
    )
    assert results.varied == ["filter"]
    assert results.methods[plain].label == "triplet, easy + semihard random"
    assert results.methods[filtered].label == ("triplet, easy + semihard random; filter prism(memory=4000) (oracle)")
    assert len(set(results.methods.values())) == 4
    assert [identity(results, name)["filter"] for name in (plain, filtered)] == ["", "prism(memory=4000) (oracle)"]
    assert "Filter" in [column.label for column in identity_columns(results)]
