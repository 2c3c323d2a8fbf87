"""`filters`: an axis of a study, in its cells, specs, keys, searches and claims."""

import pytest

from dml.config import ConfigError
from dml.config.compare import attribute
from dml.sweep.plan import keys, specs
from dml.types import FilterSpec

STUDY = """
title: Filters
datasets: [digits]
noise: [{name: uniform, rates: [0.0, 0.4]}]
losses: [triplet, softmax]
positives: [easy]
negatives: [random]
seeds: [0]
search: {sampler: fixed}
"""
DIGESTS = {"packed": "p", "split": "s", "labels": "l"}


def build(study, cell, settings=None):
    return specs.build(study, cell, "tune", 0, settings or {}, DIGESTS)


def test_filters_are_crossed_with_losses_and_cells_without_one_stay_as_they_are(study):
    plain, crossed = study(), study("filters: [none, prism]")
    assert [c for c in crossed.cells() if c.filter is None] == plain.cells()
    assert len(crossed.cells()) == 2 * len(plain.cells())
    filtered = next(c for c in crossed.cells() if c.filter is not None)
    assert filtered.name == "digits|uniform-0|triplet|easy+random|filter=prism(rate=estimated)"
    assert filtered.columns == {**plain.cells()[0].columns, "filter": "prism(rate=estimated)"}
    assert study("filters: [none]").digest == plain.digest != crossed.digest
    for cell in plain.cells():
        assert "filter" not in keys.record(build(crossed, cell))["spec"]
        assert keys.key(build(crossed, cell)) == keys.key(build(plain, cell))


@pytest.mark.parametrize("spelt", ["true", "'true'"])
def test_a_filter_that_is_told_the_rate_is_the_same_however_it_is_spelt(study, spelt):
    """Names of cells and digests of studies are those of before there were estimates."""
    told = study(f"filters: [none, {{name: prism, settings: {{rate: {spelt}}}}}]")
    cell = told.cells()[-1]
    assert cell.name.endswith("|filter=prism")
    assert build(told, cell).filter == FilterSpec("prism", {"rate": 0.4})
    assert told.digest == "424fb75982bf7f0c" != study("filters: [none, prism]").digest
    assert attribute(cell, "filter") == "prism(rate=true)"


def test_an_estimated_rate_is_filled_in_for_each_trial(study):
    made = study("filters: [prism]")
    built = build(made, made.cells()[-1])
    assert built.filter == FilterSpec("prism", {"rate": "estimated"})
    assert specs.with_rate(built, lambda spec: 0.37).filter == FilterSpec("prism", {"rate": 0.37})
    number = study("filters: [{name: prism, settings: {rate: 0.37}}]")
    assert keys.key(specs.with_rate(built, lambda spec: 0.37)) == keys.key(build(number, number.cells()[-1]))


def test_the_rate_is_the_cells_or_fixed(study):
    text = """filters:
  - {name: prism, settings: {rate: true}}
  - {name: prism_vmf, settings: {rate: true, memory: 512}}
  - {name: prism, settings: {rate: 0.25}}
"""
    own, memory, fixed = (made := study(text)).cells()[3:6]
    assert own.rate == 0.4
    assert build(made, own).filter == FilterSpec("prism", {"rate": 0.4})
    assert build(made, memory).filter == FilterSpec("prism_vmf", {"rate": 0.4, "memory": 512})
    assert memory.name.endswith("filter=prism_vmf(memory=512)")
    assert build(made, fixed).filter == FilterSpec("prism", {"rate": 0.25})


def test_a_key_contains_the_filter_its_settings_and_version(study):
    made = study("filters: [none, prism, {name: prism, settings: {window: 10}}, {name: prism_vmf}]")
    cells = made.cells()[4:8]
    assert len({keys.key(build(made, cell)) for cell in cells}) == 4
    assert keys.versions(build(made, cells[1]))["filters.prism"] == 1
    default = study("filters: [none, prism, {name: prism, settings: {window: 30}}, {name: prism_vmf}]").cells()[6]
    assert keys.key(build(made, cells[1])) == keys.key(build(made, default))


def test_a_filter_that_watches_needs_a_loss_with_several_centres(study):
    text = STUDY.replace("[triplet, softmax]", "[{name: arcface, settings: {centers: CENTERS}}]")
    for line in ("positives: [easy]\n", "negatives: [random]\n"):
        text = text.replace(line, "")
    assert study("filters: [sub_centers]", text=text.replace("CENTERS", "3")).cells()
    with pytest.raises(ConfigError, match=r"several centres a class"):
        study("filters: [sub_centers]", text=text.replace("CENTERS", "1"))


def test_a_memory_joins_keys_only_when_it_is_set(study):
    def key(settings):
        made = study(text=STUDY.replace("triplet", f"{{name: info_nce, settings: {{{settings}}}}}"))
        return keys.record(build(made, made.cells()[0]))

    plain, none = key(""), key("memory: null")
    some, same = key("memory: {size: 90, warm_up: 10}"), key("memory: {warm_up: 10, size: 90}")
    assert plain == none
    assert some == same != plain
    assert set(some["versions"]) - set(plain["versions"]) == {"losses.memory"}
    with pytest.raises(ConfigError, match=r"info_nce: memory: warm_up: expected fewer than the 500 steps, got 1000"):
        key("memory: {size: 90}")
    with pytest.raises(ConfigError, match=r"memory: expected \{size"):
        key("memory: 90")
