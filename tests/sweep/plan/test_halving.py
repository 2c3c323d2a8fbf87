"""`search.early_stopping: halving`: who is promoted, in whatever order trials run, after kills and failures."""

import itertools
import json
import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import toy

from dml.config import SearchSection
from dml.snapshots import publishing
from dml.sweep.plan.cells import paused_at
from dml.sweep.plan.halving import Halving, Ladder, ladder, promotions
from dml.sweep.plan.plan import Plan
from dml.sweep.plan.strategies import Result, Trial
from dml.sweep.progress.results import trials_frame
from dml.sweep.store.trials import FAILED, FINISHED, PAUSED, PRUNED, Outcome, TrialStore

pytestmark = pytest.mark.slow

KEY = "validation/fine/recall@1"
STEPS, EVERY = 90, 10
HALVING = {"sampler": "tpe", "trials": 9, "early_stopping": "halving", "first_rung": 0.0}


# The rule


def brute_force(places, scores, fails):
    """Halving by its definition: forget each trial that fails and begin anew, until a pass has no failure.

    `scores[trial][rung]` is its value; `fails[trial]` the rung on the way to which it fails. Returns the trials that
    each rung has in the pass without failures.
    """
    forgotten = set()
    while True:
        on = [trial for trial in range(len(scores)) if trial not in forgotten]
        passed, broken = [], None
        for rung, place in enumerate(places):
            if rung:
                ranked = sorted(on, key=lambda trial, rung=rung: (-scores[trial][rung - 1], trial))
                on = ranked[:place]
            broken = next((trial for trial in sorted(on) if fails.get(trial) == rung), None)
            if broken is not None:
                break
            passed.append(sorted(on))
        if broken is None:
            return passed
        forgotten.add(broken)


def by_the_rule(places, scores, fails):
    """The same with `promotions`, as rounds that begin when the one before has ended."""
    names = [str(trial) for trial in range(len(scores))]
    values = {name: [scores[int(name)][0]] for name in names if fails.get(int(name)) != 0}
    trained = len(names)
    while (found := promotions(places, values, names)) is not None:
        rung, promoted = found
        trained += len(promoted)
        for name in promoted:
            if fails.get(int(name)) == rung:
                del values[name]
            else:
                values[name].append(scores[int(name)][rung])
    reached = [sorted(int(name) for name, own in values.items() if len(own) > rung) for rung in range(len(places))]
    return reached, trained


def test_the_rule_is_that_of_a_brute_force_search():
    draw = np.random.default_rng(0)
    failing = 0
    for _ in range(2000):
        trials, eta, rounds = int(draw.integers(1, 30)), int(draw.integers(2, 5)), int(draw.integers(0, 5))
        places = [max(1, trials // eta**k) for k in range(rounds + 1)]
        scores = draw.integers(0, 6, (trials, rounds + 1)) / 5  # with ties
        fails = {t: int(draw.integers(0, rounds + 1)) for t in range(trials) if draw.random() < draw.choice([0, 0.3])}
        expected = brute_force(places, scores, fails)
        found, trained = by_the_rule(places, scores, fails)
        assert found == expected, (places, scores, fails)
        failing += bool(fails)
        if not fails:
            assert trained == sum(places)
    assert failing > 400


def test_the_rule_by_hand():
    values = {"a": [0.1], "b": [0.3], "c": [0.3], "d": [0.2]}
    assert promotions([4, 2, 1], values, "abcd") == (1, ["b", "c"])
    assert promotions([4, 1, 1], values, "abcd") == (1, ["b"]), "the first one wins a tie"
    assert promotions([4, 2, 1], {"b": [0.3], "c": [0.3, 0.9], "d": [0.2, 0.95]}, "abcd") == (2, ["d"])
    assert promotions([4, 2, 1], {"a": [0.1], "c": [0.3, 0.9]}, "abcd") == (1, ["a"]), "in place of one that failed"
    assert promotions([4, 2, 1], {"c": [0.3, 0.9, 0.1], "d": [0.2, 0.5]}, "abcd") is None
    assert promotions([4], values, "abcd") is None
    assert promotions([4, 2], {}, "") is None


# The plan


@pytest.fixture
def study(toy_study):
    """A study of one cell with nine trials of 90 steps, evaluated every 10: rungs after 10, 30 and 90."""

    def make(search=HALVING, **overrides):
        overrides = {"losses": ["triplet"], "training": {"steps": STEPS}, **overrides}
        return toy_study(search=search, evaluation={"metrics": ["recall@1"], "every": EVERY}, **overrides)

    return make


class Machine:
    """Runs a plan's trials in any order on several slots; a paused trial keeps the steps that it has."""

    def __init__(self, study, root, curve, fails=lambda job: None):
        self.store, self.curve, self.fails = TrialStore(root), curve, fails
        self.steps = {}  # key -> steps that it has trained
        self.trained = 0
        self.ended = []
        self.study = study
        self.open()

    def open(self):
        self.plan = Plan(self.study, self.store, toy.describe)
        self.plan.start(lambda job, outcome, reused: self.ended.append((job, outcome)))

    def run(self, choose=lambda running: 0, slots=1, limit=None):
        """Run all trials, or so many segments; `choose` picks which of the running ones ends next."""
        running, count = [], 0
        while not self.plan.finished and count != limit:
            while len(running) < slots and (job := self.plan.take()) is not None:
                running.append(job)
            job = running.pop(choose(running))
            self.plan.end(job.id, self.segment(job))
            count += 1
        return self

    def segment(self, job):
        until, total = job.until or job.spec.training.total_steps, job.spec.training.total_steps
        begun = self.steps.get(job.key, 0)
        at = self.fails(job)
        if at is not None and begun < at <= until:
            outcome = Outcome(FAILED, error="nan")
            self.trained += at - begun
        else:
            part = "validation" if job.phase == "tune" else "test"
            every = job.spec.evaluation.every or total
            steps = [0] * job.spec.evaluation.at_start + [*range(every, until, every), until]
            curve = [[step, {f"{part}/fine/recall@1": float(self.curve(job, step))}] for step in steps]
            outcome = Outcome(FINISHED if until == total else PAUSED, curve[-1][1], curve, seconds=float(until))
            self.steps[job.key] = until
            if job.phase == "tune":
                self.trained += until - begun
        self.store.write(job.key, outcome)
        return outcome

    def table(self):
        columns = ["key", "phase", "number", "status", "settings", "objective", "curve"]
        return trials_frame(self.study, self.plan)[columns]


def learning(job, step):
    """A score that depends on the settings, with curves that cross."""
    margin = job.settings.get("loss.margin", 0.2)
    return (1 - (margin - 0.3) ** 2) * step / (step + 40 * (1 + 5 * margin))


def test_most_trials_train_for_a_part_of_their_steps(study, tmp_path):
    machine = Machine(study(), tmp_path, learning).run()
    tuned = machine.table().query("phase == 'tune'")
    assert list(tuned["status"].value_counts()[[PRUNED, FINISHED]]) == [8, 1]
    last = sorted(json.loads(curve)[-1][0] for curve in tuned["curve"])
    assert last == [10] * 6 + [30] * 2 + [90]
    assert machine.trained == ladder(study().search, 9, STEPS, EVERY).cost == 9 * 10 + 3 * 20 + 60
    assert machine.plan.total == 9 + 2
    ended = [job.number for job, _ in machine.ended if job.phase == "tune"]
    assert sorted(ended) == list(range(9)), "each trial ends once"


def test_the_promoted_trials_are_those_of_the_rule(study, tmp_path):
    machine = Machine(study(), tmp_path, learning).run()
    jobs = {job.number: job for job, _ in machine.plan.ended() if job.phase == "tune"}
    scores = [[learning(jobs[n], step) for step in (10, 30, 90)] for n in range(9)]
    reached = brute_force([9, 3, 1], scores, {})
    for rung, step in enumerate((10, 30, 90)):
        assert sorted(n for n in jobs if machine.steps[jobs[n].key] >= step) == reached[rung]
    best, _ = machine.plan.best(0)
    assert [best.number] == reached[-1]
    assert {job.settings["loss.margin"] for job, o in machine.plan.ended() if job.phase == "confirm"} == {
        best.settings["loss.margin"]
    }


@pytest.mark.parametrize("sampler", ["tpe", "grid"])
@pytest.mark.parametrize("stop", ["last", "best"])
def test_order_and_speed_change_nothing(study, tmp_path, sampler, stop):
    own = study({**HALVING, "sampler": sampler, "stop": stop, "trials": 12}, losses=["triplet", "contrastive"])
    expected = Machine(own, tmp_path / "one", learning).run()
    for seed in range(4):
        draw = random.Random(seed)
        orders = [lambda running: -1, lambda running, draw=draw: draw.randrange(len(running))]
        other = Machine(own, tmp_path / str(seed), learning).run(orders[seed % 2], slots=1 + seed * 2)
        assert other.table().equals(expected.table())
        assert other.trained == expected.trained


@pytest.mark.parametrize("cut", range(16))
def test_a_killed_search_promotes_the_same_trials(study, tmp_path, cut):
    """No step is trained twice."""
    expected = Machine(study(), tmp_path / "whole", learning).run()
    machine = Machine(study(), tmp_path / "cut", learning).run(slots=2, limit=cut)
    machine.open()
    machine.run(slots=3)
    assert machine.table().equals(expected.table())
    assert machine.trained == expected.trained
    machine.ended.clear()
    machine.open()
    assert machine.plan.finished, "nothing runs again"
    assert len(machine.ended) == 11


def test_failing_trials_give_their_places_to_the_next_best(study, tmp_path):
    whole = Machine(study(), tmp_path / "whole", learning).run()
    jobs = {job.number: job for job, _ in whole.plan.ended() if job.phase == "tune"}
    scores = [[learning(jobs[n], step) for step in (10, 30, 90)] for n in range(9)]
    winner = whole.plan.best(0)[0].number
    second = next(n for n in brute_force([9, 3, 1], scores, {winner: 2})[2])
    for at, fails in itertools.product((5, 25, 60), ([winner], [winner, second])):
        rung = {5: 0, 25: 1, 60: 2}[at]
        own = Machine(
            study(),
            tmp_path / f"{at}-{len(fails)}",
            learning,
            fails=lambda job, fails=fails, at=at: at if job.phase == "tune" and job.number in fails else None,
        ).run(slots=2)
        tuned = {job.number: outcome for job, outcome in own.plan.ended() if job.phase == "tune"}
        assert sorted(n for n in tuned if tuned[n].status == FAILED) == sorted(fails)
        if rung:  # a failure on the first rung changes later proposals
            reached = brute_force([9, 3, 1], scores, dict.fromkeys(fails, rung))
            assert [n for n in tuned if tuned[n].status == FINISHED] == reached[2]
        assert own.plan.best(0) is not None, "the cell is confirmed"


def test_a_cell_whose_trials_all_fail_ends(study, tmp_path):
    for at in (5, 25, 60):
        machine = Machine(study(), tmp_path / str(at), learning, fails=lambda job, at=at: at).run(slots=4)
        assert machine.plan.finished
        assert {outcome.status for _, outcome in machine.plan.ended()} == {FAILED}
        assert len(list(machine.plan.ended())) == 9, "each was tried, none is confirmed"


def test_a_score_that_is_not_a_number_on_a_rung_is_a_failure(study, tmp_path):
    curve = lambda job, step: float("nan") if job.number in (2, 5) else learning(job, step)  # noqa: E731
    machine = Machine(study(), tmp_path, curve).run()
    tuned = {job.number: outcome for job, outcome in machine.plan.ended() if job.phase == "tune"}
    assert [n for n in tuned if tuned[n].status == FAILED] == [2, 5]
    assert KEY in tuned[2].error


def test_with_stop_best_no_stopped_trial_was_better(study, tmp_path):
    peaks = lambda job, step: 0.5 - abs(step - 10 * (job.number % 9)) / 200 + job.number / 100  # noqa: E731
    machine = Machine(study({**HALVING, "stop": "best"}), tmp_path, peaks).run()
    best = machine.plan.value(*machine.plan.best(0))
    ended = [(job, outcome) for job, outcome in machine.plan.ended() if job.phase == "tune"]
    assert best == max(scores[KEY] for _, outcome in ended for _, scores in outcome.curve)
    assert {job.spec.evaluation.at_start for job, _ in ended} == {True}
    (stop,) = {job.spec.training.total_steps for job, _ in machine.plan.ended() if job.phase == "confirm"}
    assert stop == next(step for step, s in machine.plan.best(0)[1].curve if s[KEY] == best)


def test_a_sampler_is_told_one_value_of_each_trial_after_equal_steps():
    class Proposing:
        trials, count, told = 9, 2, []

        def rounds(self):
            for numbers in (range(4), range(4, 9)):
                self.told.append((yield [Trial(n, {}) for n in numbers]))

    search = SearchSection(early_stopping="halving", first_rung=0.0)
    halving, reached = Halving(Proposing(), search, STEPS, EVERY), []
    rounds, results = halving.rounds(), None
    with suppress(StopIteration):
        while True:
            trials = list(rounds.send(results))
            until = trials[0].until or STEPS
            reached.append((until, len(trials)))
            results = {t.number: Result(str(t.number), t.number + until / 100, until < STEPS) for t in trials}
    assert reached == [(10, 4), (10, 5), (30, 3), (90, 1)]
    told = [{number: result.value for number, result in one.items()} for one in Proposing.told]
    assert told == [{n: n + 0.1 for n in range(4)}, {n: n + 0.1 for n in range(4, 9)}]


# Keys, and what searches share


def test_keys_are_those_of_a_search_without_early_stopping(study, tmp_path):
    halved = Machine(study({**HALVING, "sampler": "grid"}), tmp_path / "a", learning).run()
    whole = Machine(study({"sampler": "grid", "trials": 9}), tmp_path / "b", learning).run()
    tuned = [[job.key for job, _ in m.plan.ended() if job.phase == "tune"] for m in (halved, whole)]
    assert tuned[0] == tuned[1]


@pytest.mark.parametrize("stop", ["last", "best"])
def test_a_full_search_before_changes_nothing_but_the_work(study, tmp_path, stop):
    search = {"sampler": "grid", "trials": 9, "stop": stop}
    alone = Machine(study({**search, "early_stopping": "halving"}), tmp_path / "alone", learning).run()
    Machine(study(search), tmp_path / "shared", learning).run()
    after = Machine(study({**search, "early_stopping": "halving"}), tmp_path / "shared", learning)
    assert after.plan.finished
    assert after.table().equals(alone.table())


def test_another_reduction_reuses_what_trained_far_enough(study, tmp_path):
    search = {**HALVING, "sampler": "grid"}
    first = Machine(study(search), tmp_path, learning).run()
    more = Machine(study({**search, "reduction": 2}), tmp_path, learning)
    more.steps = dict(first.steps)
    more.run()
    assert ladder(more.study.search, 9, STEPS, EVERY) == Ladder((10, 20, 50, 90), (9, 4, 2, 1))
    assert more.trained <= 4 * 10 + 2 * 30 + 40


def test_trials_with_one_key_are_one(study, tmp_path):
    """Two settings among nine proposals: both reach the second rung, one the third, and each runs once."""
    own = study(losses=[{"name": "triplet", "search": {"margin": {"choice": [0.1, 0.3]}}}])
    machine = Machine(own, tmp_path, learning).run(slots=3)
    assert machine.trained == 2 * 30 + 60
    statuses = {}
    for job, outcome in machine.plan.ended():
        statuses.setdefault(job.key, set()).add(outcome.status)
    assert all(len(found) == 1 for found in statuses.values())


@pytest.mark.parametrize("left", [(10, 30, 90), (30, 90), ()])
def test_a_published_trial_counts_if_its_curve_has_the_rungs(study, tmp_path, left):
    search = {"sampler": "grid", "trials": 8}
    whole = Machine(study(search), tmp_path / "whole", learning).run()
    published = {
        job.key: replace(outcome, curve=[point for point in outcome.curve if point[0] in left])
        for job, outcome in whole.plan.ended()
    }
    machine = Machine(study({**HALVING, **search}), tmp_path / "clone", learning)
    machine.store = TrialStore(tmp_path / "clone", snapshot_outcomes=published)
    machine.open()
    machine.run()
    assert machine.trained == (0 if 10 in left else 8 * 10 if left else 8 * 10 + 2 * 20)
    assert [outcome.status for _, outcome in machine.plan.ended()].count(PRUNED) == 7


def test_a_snapshot_keeps_the_curves_that_halving_compares(study, tmp_path):
    own = study({**HALVING, "trials": 4})
    frame = trials_frame(own, Machine(own, tmp_path, learning).run().plan)
    curves = [json.loads(curve) for curve in publishing.rounded_trials(own, frame).query("phase == 'tune'")["curve"]]
    (expected,) = frame.query("phase == 'tune' and status == 'finished'")["curve"]
    assert curves == [json.loads(expected)]


def test_a_failure_after_a_pause_counts_from_where_it_failed(study, tmp_path):
    store = TrialStore(tmp_path)
    point = [10, {KEY: 0.5}]
    store.write("key", Outcome(PAUSED, point[1], [point]))
    store.write("key", Outcome(FAILED, error="nan"))
    assert store.reached("key", 10).status == PAUSED
    assert store.reached("key", 30).status == store.reached("key", None).status == FAILED
    assert store.read("key").status == FAILED
    store.write("other", Outcome(PAUSED, point[1], [point]))
    assert store.reached("other", 30) is store.reached("other", None) is store.read("other") is None


def test_what_came_after_a_rung_does_not_count():
    curve = [[step, {KEY: step / 100}] for step in (10, 20, 30, 90)]
    whole = Outcome(FINISHED, curve[-1][1], curve, seconds=9.0, diagnostics={"tuples": 1.0})
    at = paused_at(whole, 30)
    assert (at.status, at.scores, at.curve, at.seconds) == (PAUSED, {KEY: 0.3}, curve[:3], pytest.approx(3.0))
    assert paused_at(replace(whole, status=PAUSED), 20).curve == curve[:2]
    assert paused_at(whole, 40).status == FAILED
    failed = Outcome(FAILED, error="nan")
    assert paused_at(failed, 10) is failed


def test_two_cells_that_share_a_trial_and_are_on_other_rungs(study, tmp_path):
    """The cell that is behind does not end the trial of the one that is ahead."""
    machine = Machine(study({**HALVING, "sampler": "grid"}), tmp_path, learning)
    behind = machine.plan.take()
    ahead = replace(behind, until=30, id="another")
    machine.plan._sharing[behind.key].append(ahead)
    machine.plan.end(behind.id, machine.segment(behind))
    assert [job for _, _, job in machine.plan._ready if job.until == 30] == [ahead]
