import math

import optuna
import pytest

from dml.config import SearchSection
from dml.seeding import derive
from dml.sweep.plan.strategies import STARTUP, Result, Tpe
from dml.types import Choice, LogUniform, Uniform

pytestmark = pytest.mark.slow

SPACES = {
    "loss.margin": Uniform(0.1, 0.5),
    "training.learning_rate": LogUniform(1e-4, 1e-1),
    "loss.kind": Choice((1, 2)),
}


def value(settings):
    return -((settings["loss.margin"] - 0.3) ** 2) - abs(math.log10(settings["training.learning_rate"]) + 2)


def tpe(trials=12, cell="cell"):
    return Tpe(SearchSection(sampler="tpe", trials=trials), SPACES, cell)


def run(strategy, fails=(), reverse=False):
    """The settings of all trials by number. Those that fail are told so; results come in either order."""
    rounds, asked = strategy.rounds(), {}
    trials = next(rounds)
    while True:
        settings = {trial.number: trial.settings for trial in trials}
        asked |= settings
        order = sorted(settings, reverse=reverse)
        results = {n: Result(None if n in fails else value(settings[n])) for n in order}
        try:
            trials = rounds.send(results)
        except StopIteration:
            return asked


def by_optuna(trials):
    """The same search in plain calls of Optuna, each trial told before the next round is asked."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study, found, first = optuna.create_study(direction="maximize"), {}, min(trials, STARTUP, max(2, trials // 2))
    ends = [first, *range(first + max(1, trials // 8), trials, max(1, trials // 8)), trials]
    for start, end in zip([0, *ends], ends, strict=False):
        asked = []
        for number in range(start, end):
            seed = derive(0, f"cell/{number}") % 2**32
            study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=first, constant_liar=True)
            trial = study.ask()
            margin = trial.suggest_float("loss.margin", 0.1, 0.5)
            rate = trial.suggest_float("training.learning_rate", 1e-4, 1e-1, log=True)
            kind = trial.suggest_categorical("loss.kind", (1, 2))
            found[number] = {"loss.margin": margin, "training.learning_rate": rate, "loss.kind": kind}
            asked.append(trial)
        for trial in asked:
            study.tell(trial, value(found[trial.number]))
    return found


def test_tpe_is_optunas():
    assert run(tpe(20)) == by_optuna(20)


def test_proposals_do_not_depend_on_who_ended_first():
    assert run(tpe()) == run(tpe(), reverse=True)


def test_a_trial_that_failed_teaches_nothing_and_ends_nothing():
    whole, failing = run(tpe()), run(tpe(), fails={0, 3})
    assert list(failing) == list(whole)
    first = tpe().numbers[0]
    assert [failing[n] for n in first] == [whole[n] for n in first]
    assert failing != whole


def test_tpe_learns_and_cells_differ():
    made = run(tpe(40))
    early, late = [value(made[n]) for n in range(10)], [value(made[n]) for n in range(30, 40)]
    assert sum(late) / 10 > sum(early) / 10
    assert run(tpe(4, "another cell"))[0] != made[0]
