"""A trial's numerics version changes with the code that it runs, and with no other."""

import ast

import pytest

from dml.training import numerics

TRIPLET = ("dml.losses.triplet", "dml.models.small_conv")


@pytest.fixture(autouse=True)
def fresh():
    yield
    for cached in (numerics.version, numerics._imports, numerics._file, numerics._normalised):
        cached.cache_clear()


def edit(monkeypatch, module: str, change) -> None:
    original = numerics._tree
    monkeypatch.setattr(numerics, "_tree", lambda m: change(original(m)) if m == module else original(m))
    for cached in (numerics.version, numerics._imports, numerics._normalised):
        cached.cache_clear()


def add_statement(tree: ast.Module) -> ast.Module:
    tree.body.append(ast.parse("changed = 1").body[0])
    return tree


def test_it_covers_the_loop_its_parts_and_what_they_import():
    found = numerics.closure([numerics.LOOP, *TRIPLET])
    assert {"dml.training.loop", "dml.losses.triplet", "dml.seeding", "dml.training.feeder"} <= found
    assert "dml.losses.margin" not in found
    assert not any(module.startswith(("dml.sweep", "dml.report", "dml.tracking")) for module in found)


@pytest.mark.parametrize("module", ["dml.losses.triplet", "dml.training.loop", "dml.seeding"])
def test_a_change_of_code_that_runs_changes_it(monkeypatch, module):
    before = numerics.version(TRIPLET)
    edit(monkeypatch, module, add_statement)
    assert numerics.version(TRIPLET) != before


def test_a_change_of_another_loss_does_not(monkeypatch):
    before = numerics.version(TRIPLET)
    edit(monkeypatch, "dml.losses.margin", add_statement)
    assert numerics.version(TRIPLET) == before


def test_comments_and_docstrings_do_not_count(monkeypatch):
    before = numerics.version(TRIPLET)

    def redocument(tree: ast.Module) -> ast.Module:
        tree.body[0] = ast.parse('"""Other words."""').body[0]
        return tree

    edit(monkeypatch, "dml.losses.triplet", redocument)
    assert numerics.version(TRIPLET) == before


def test_parts_of_other_packages_count_by_their_version(monkeypatch):
    path = "pytorch_metric_learning.losses.CircleLoss"
    before = numerics.version((path,))
    monkeypatch.setattr(numerics, "_package_version", lambda dotted: "9.9")
    numerics.version.cache_clear()
    assert numerics.version((path,)) != before
