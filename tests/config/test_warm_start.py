"""`search.warm_start`: which cells' best settings a cell tries first, and the studies that it cannot serve."""

import pytest

from dml.config import SearchSection, sources, study_from

STUDY = {"title": "A study", "datasets": ["digits"], "losses": ["triplet", "contrastive"], "negatives": ["random"]}
NOISE = [{"name": "uniform", "rates": [0.0, 0.2, 0.6]}]


def study(warm_start=1, trials=4, **changes):
    own = {"positives": ["random"], "noise": NOISE, "search": {"trials": trials, "warm_start": warm_start}}
    return study_from({**STUDY, **own, **changes})


def found(own, count=1):
    cells = own.cells()
    return {cells[place].name: [cells[n].name for n in own_] for place, own_ in enumerate(sources(cells, count))}


def test_by_default_a_search_starts_from_nothing():
    assert SearchSection().warm_start == 0
    assert set(map(tuple, sources(study().cells(), 0))) == {()}


def test_a_cell_starts_from_its_loss_at_the_nearest_earlier_rate():
    name = "digits|uniform-{}|{}|random+random".format
    expected = {name("0", loss): [] for loss in ("triplet", "contrastive")}
    for loss in ("triplet", "contrastive"):
        expected |= {name("0.2", loss): [name("0", loss)], name("0.6", loss): [name("0.2", loss)]}
    assert found(study()) == expected
    assert found(study(), 2)[name("0.6", "triplet")] == [name("0.2", "triplet"), name("0", "triplet")]


def test_no_cell_starts_from_one_that_it_is_compared_with():
    own = study(
        positives=["random", "easy"], filters=["none", "prism"], noise=[*NOISE, {"name": "asymmetric", "rates": [0.2]}]
    )
    cells = own.cells()
    for count in (1, 2, 9):
        for cell, places in zip(cells, sources(cells, count), strict=True):
            for other in (cells[place] for place in places):
                assert (cell.noise, cell.rate) != (other.noise, other.rate)
                assert cell.loss.name == other.loss.name


def test_methods_of_a_condition_start_from_as_many():
    cells = study(
        positives=["random", "easy"], losses=[{"name": "triplet", "settings": {"margin": m}} for m in (0.1, 0.2)]
    ).cells()
    for count in (1, 2, 3, 5):
        given = {}
        for cell, places in zip(cells, sources(cells, count), strict=True):
            given.setdefault(cell.rate, set()).add(len(places))
        assert all(len(own) == 1 for own in given.values())


def test_the_same_policies_come_before_a_nearer_rate():
    own = study(positives=["random", "easy"], losses=["triplet"])
    assert found(own, 3)["digits|uniform-0.6|triplet|easy+random"] == [
        "digits|uniform-0.2|triplet|easy+random",
        "digits|uniform-0|triplet|easy+random",
        "digits|uniform-0.2|triplet|random+random",
    ]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"search": {"warm_start": 1, "sampler": "grid"}}, "got 'grid'"),
        ({"search": {"warm_start": 1, "sampler": "fixed"}}, "got 'fixed'"),
        ({"warm_start": 4}, r"less than search.trials \(4\).*got 4"),
        ({"noise": [{"name": "uniform", "rates": [0.2]}]}, "expected a loss with several datasets, noise models or"),
        ({"warm_start": -1}, "greater than or equal to 0"),
    ],
)
def test_searches_that_cannot_start_from_others_are_refused(changes, expected):
    with pytest.raises(Exception, match=expected):
        study(**changes)
