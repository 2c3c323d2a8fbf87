import itertools
import math
from pathlib import Path

import optuna
import pytest

from dml.config import SearchSection
from dml.sweep.plan import proposals as module
from dml.sweep.plan.proposals import Proposals
from dml.sweep.store import optuna_storage
from dml.sweep.store.optuna_storage import open_storage
from dml.sweep.store.trials import FINISHED, Outcome
from dml.types import Choice, LogUniform, Uniform

pytestmark = pytest.mark.slow

SPACES = {
    "loss.margin": Uniform(0.1, 0.5),
    "training.learning_rate": LogUniform(1e-4, 1e-1),
    "loss.kind": Choice((1, 2)),
}


def value(settings):
    return -((settings["loss.margin"] - 0.3) ** 2) - abs(math.log10(settings["training.learning_rate"]) + 2)


def proposals(storage, **search):
    return Proposals(SearchSection(**{"sampler": "tpe", "trials": 12, **search}), SPACES, "a", "cell", storage)


def run(made, end=None, reverse=False):
    """Run rounds to `end`, telling each round's results in either order."""
    asked = {}
    for numbers in made.rounds():
        settings = {n: made.ask(n) for n in numbers}
        for n in sorted(settings, reverse=reverse):
            if end is not None and n >= end:
                return {**asked, **settings}
            made.tell(n, Outcome(FINISHED), value(settings[n]), f"key-{n}")
        asked |= settings
    return asked


def storage():
    return optuna.storages.InMemoryStorage()


@pytest.mark.parametrize("sampler", ["tpe", "grid"])
def test_proposals_do_not_depend_on_who_ended_first(sampler):
    first, second = (run(proposals(storage(), sampler=sampler), reverse=r) for r in (False, True))
    assert first == second
    assert all(0.1 <= s["loss.margin"] <= 0.5 and 1e-4 <= s["training.learning_rate"] <= 0.1 for s in first.values())


@pytest.mark.parametrize("number", [0, 4, 7])
@pytest.mark.parametrize("sampler", ["tpe", "grid"])
def test_a_search_that_was_killed_within_a_proposal_goes_on_with_the_same_ones(tmp_path, monkeypatch, sampler, number):
    whole = run(proposals(storage(), sampler=sampler))
    suggest, count = module._suggest, itertools.count()

    def killed(*given):
        if next(count) == len(SPACES) * number + 1:
            raise KeyboardInterrupt
        return suggest(*given)

    monkeypatch.setattr(module, "_suggest", killed)
    with pytest.raises(KeyboardInterrupt):
        run(proposals(open_storage(tmp_path / "a.journal"), sampler=sampler))
    monkeypatch.undo()
    assert run(proposals(open_storage(tmp_path / "a.journal"), sampler=sampler)) == whole


@pytest.mark.parametrize("end", [0, 3, 7, 8])
@pytest.mark.parametrize("sampler", ["tpe", "grid"])
def test_an_interrupted_search_goes_on_with_the_same_proposals(tmp_path, end, sampler):
    whole = run(proposals(storage(), sampler=sampler))
    run(proposals(open_storage(tmp_path / "a.journal"), sampler=sampler), end=end)
    assert run(proposals(open_storage(tmp_path / "a.journal"), sampler=sampler)) == whole
    study = optuna.load_study(study_name="a", storage=open_storage(tmp_path / "a.journal"))
    assert [t.state.name for t in study.trials] == ["COMPLETE"] * len(whole)
    assert [t.user_attrs["key"] for t in study.trials] == [f"key-{n}" for n in range(len(whole))]


def test_the_journal_survives_a_line_cut_short_and_a_lock_left_behind(tmp_path):
    path = tmp_path / "a.journal"
    run(proposals(open_storage(path)), end=5)
    with open(path, "ab") as file:
        file.write(b'{"op_code": 4, "wor')
    (tmp_path / "a.journal.lock").symlink_to(path)
    assert run(proposals(open_storage(path))) == run(proposals(storage()))


def test_a_full_disk_takes_no_more_of_the_journal_than_the_line_that_it_cut(tmp_path, monkeypatch):
    path = tmp_path / "a.journal"
    run(proposals(open_storage(path)), end=5)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"op_code": 4, "wor')

    def full(path, content):
        with open(path, "wb"):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    open_storage(path)
    assert path.read_bytes() == whole


def test_a_disk_that_does_not_answer_loses_no_journal(tmp_path, monkeypatch):
    path = tmp_path / "a.journal"
    run(proposals(open_storage(path)), end=5)
    whole, create = path.read_bytes(), optuna_storage._journal

    def fails(path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(optuna_storage, "_journal", fails)
    with pytest.raises(OSError, match="Input/output"):
        open_storage(path)
    monkeypatch.setattr(optuna_storage, "_journal", create)
    assert path.read_bytes() == whole
    path.write_bytes(b"no\njournal\n")
    open_storage(path)
    assert (tmp_path / "a.journal.unreadable").read_bytes() == b"no\njournal\n"


def test_tpe_learns_and_cells_differ():
    made = run(proposals(storage(), trials=40))
    early, late = [value(made[n]) for n in range(10)], [value(made[n]) for n in range(30, 40)]
    assert sum(late) / 10 > sum(early) / 10
    other = Proposals(SearchSection(sampler="tpe", trials=4), SPACES, "b", "another cell", storage())
    assert other.ask(0) != made[0]


@pytest.mark.parametrize(
    ("trials", "rounds"), [(1, [1]), (3, [2, 1]), (8, [4, 1, 1, 1, 1]), (40, [10, 5, 5, 5, 5, 5, 5])]
)
def test_rounds(trials, rounds):
    found = proposals(storage(), trials=trials).rounds()
    assert [len(numbers) for numbers in found] == rounds
    assert [n for numbers in found for n in numbers] == list(range(trials))
