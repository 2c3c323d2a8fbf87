"""Which models stay on disk, and that one that somebody needs never goes."""

import shutil
import signal
import subprocess
import sys

import pytest
from simulated import models, simulate, write_model

from dml.files import locked
from dml.sweep import retention as keeping
from dml.sweep.progress.results import trials_frame
from dml.sweep.retention import best_model, delete_dropped, dropped, record
from dml.sweep.run import Tidying
from dml.sweep.store.init_from import InitFromFinder, needed_keys, studies_that_start
from dml.sweep.store.mirror import mirrored, owner
from dml.sweep.store.remote import StorageError
from dml.sweep.store.trials import TrialStore

pytestmark = pytest.mark.slow


def score(job):
    """Triplet is the best in validation and the worst in the test; of its seeds, the second is the best."""
    triplet = job.cell.loss.name == "triplet"
    if job.phase == "tune":
        return 0.9 if triplet else 0.8
    return (0.1 if triplet else 0.5) + 0.01 * (job.seed == 1)


def end(plan, root, studies=None):
    """What a sweep does when it ends."""
    out = root / "results" / plan.study.name
    out.mkdir(parents=True, exist_ok=True)
    trials_frame(plan.study, plan).to_parquet(out / "trials.parquet")
    Tidying(plan, InitFromFinder(root / "results", root / "store"), studies).end()


def confirmed(plan, seed=None, loss=None):
    """Keys of confirmed trials."""
    found = [job for state in plan.states for job, _ in state.confirmed.values()]
    return {j.key for j in found if seed in (None, j.seed) and loss in (None, j.cell.loss.name)}


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("all", lambda plan: confirmed(plan)),
        ("cells", lambda plan: confirmed(plan, seed=1)),
        ("best", lambda plan: confirmed(plan, seed=1, loss="triplet")),
    ],
)
def test_what_each_policy_keeps(toy_study, tmp_path, policy, kept):
    study = toy_study(seeds=[0, 1, 2], resources={"keep_models": policy})
    plan = simulate(study, tmp_path, score)
    assert models(tmp_path) == confirmed(plan)
    end(plan, tmp_path)
    assert models(tmp_path) == kept(plan)
    assert len(list(tmp_path.glob("store/trials/*/result.json"))) == len(list(plan.ended())), "results stay"

    again = simulate(study, tmp_path, lambda job: pytest.fail("a finished trial ran again"))
    end(again, tmp_path)
    assert models(tmp_path) == kept(plan)


def over_levels(job):
    """The more noise, the higher the scores; cars score higher than birds."""
    return 0.3 + job.cell.rate + (job.cell.dataset == "cars") / 10 + 0.01 * (job.cell.loss.name == "triplet")


BOTH = [{"name": "digits", "id": "birds"}, {"name": "digits", "id": "cars"}]


@pytest.mark.parametrize(
    ("changes", "kept", "best"),
    [
        ({"rates": [0.2, 0.0]}, ["digits|uniform-0"], "digits|uniform-0"),
        ({"rates": [0.0, 0.2], "datasets": BOTH}, ["birds|uniform-0", "cars|uniform-0"], "birds|uniform-0"),
        ({"rates": [0.1, 0.2]}, ["digits|uniform-0.1", "digits|uniform-0.2"], None),
    ],
)
def test_the_best_model_is_trained_with_labels_as_given(toy_study, tmp_path, changes, kept, best):
    noise = [{"name": "uniform", "rates": changes.pop("rates")}]
    study = toy_study(seeds=[0], noise=noise, resources={"keep_models": "best"}, **changes)
    plan = simulate(study, tmp_path, over_levels)
    found, names = best_model(plan), {job.key: job.cell.name for job, _ in plan.ended()}
    assert (None if found is None else found.cell.name) == (best and f"{best}|triplet|random+random")
    end(plan, tmp_path)
    assert sorted(names[key] for key in models(tmp_path)) == [f"{name}|triplet|random+random" for name in kept]


@pytest.mark.parametrize("first", ["cells", "all"])
def test_a_model_that_another_study_of_the_store_keeps_stays(toy_study, tmp_path, first):
    policies = [first, "all" if first == "cells" else "cells"]
    plans = [
        simulate(toy_study(name=f"s{n}", resources={"keep_models": p}), tmp_path, score) for n, p in enumerate(policies)
    ]
    assert confirmed(plans[0]) == confirmed(plans[1]), "the same trials"
    for plan in plans:
        end(plan, tmp_path)
    assert models(tmp_path) == confirmed(plans[0])


def test_nothing_is_deleted_while_another_sweep_runs(toy_study, tmp_path):
    plan = simulate(toy_study(), tmp_path, score)
    code = "import sys, time\nfrom pathlib import Path\nfrom dml.sweep.store.trials import only_sweep\n"
    code += "with only_sweep(Path(sys.argv[1]), 'other'):\n    print('held', flush=True)\n    time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "store")], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    try:
        end(plan, tmp_path)
        assert models(tmp_path) == confirmed(plan)
        assert len(dropped(plan.store)) == 2
    finally:
        other.kill()
        other.wait()
    with locked(tmp_path / "store/sweeps/toys.lock"):  # its own, as in a sweep
        assert delete_dropped(plan.store, "toys")[0] == 2


KILL = """
import shutil, sys, time
from pathlib import Path
from dml.sweep.retention import delete_dropped
from dml.sweep.store.trials import TrialStore
def slowly(folder, **_):
    if Path(folder).exists():
        next(Path(folder).iterdir()).unlink()
        print("half", flush=True)
        time.sleep(60)
shutil.rmtree = slowly
delete_dropped(TrialStore(Path(sys.argv[1])), "toys")
"""


def test_a_deletion_that_is_killed_in_the_middle_leaves_no_half_model_and_is_completed(toy_study, tmp_path):
    plan = simulate(toy_study(), tmp_path, score)
    record(plan)
    process = subprocess.Popen([sys.executable, "-c", KILL, str(tmp_path / "store")], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    for folder in tmp_path.glob("store/trials/*/model"):
        assert {path.name for path in folder.iterdir()} == {"model.json", "model.safetensors"}, "whole, or gone"
    assert len(models(tmp_path)) == 3
    assert list(tmp_path.glob("store/trials/*/.model.deleted")), "the half that was left"
    end(simulate(toy_study(), tmp_path, lambda job: pytest.fail("ran again")), tmp_path)
    assert models(tmp_path) == confirmed(plan, seed=1)
    assert not list(tmp_path.glob("store/trials/*/.model.deleted"))


def test_while_a_sweep_runs_confirmed_cells_are_tidied_and_open_ones_are_not(toy_study, tmp_path, monkeypatch):
    plan = simulate(toy_study(), tmp_path, score, stop=9)
    tidying = Tidying(plan, InitFromFinder(tmp_path / "results", tmp_path / "store"), None)
    tidying.now_and_then()
    assert len(models(tmp_path)) == 3, "too early"
    monkeypatch.setattr("dml.sweep.run.TIDY_SECONDS", 0.0)
    tidying.now_and_then()
    whole = [state for state in plan.states if len(state.confirmed) == 2]
    assert (len(whole), len(models(tmp_path))) == (1, 2)


USER = """\
title: Starts from another study
datasets: [digits]
losses: [margin]
seeds: [0, 4]
grid:
  training.init_from:
    - null
    - {study: toys, cell: {loss: triplet}}
"""


def test_models_that_another_study_starts_from_stay(toy_study, tmp_path, capsys):
    studies = tmp_path / "studies"
    studies.mkdir()
    (studies / "user.yaml").write_text(USER)
    plan = simulate(toy_study(resources={"keep_models": "best"}), tmp_path, score)
    end(plan, tmp_path, studies)
    starts = InitFromFinder(tmp_path / "results", tmp_path / "store")
    needed = needed_keys(studies_that_start(studies), starts)
    assert needed == confirmed(plan, 0, "triplet"), "of the same seed, else of the first one"
    assert models(tmp_path) == needed | confirmed(plan, 1, "triplet")

    for path in (tmp_path / "results").rglob("*.parquet"):  # as `make clean` does
        path.unlink()
    end(simulate(toy_study(name="other", losses=["margin"]), tmp_path, score), tmp_path, studies)
    assert needed <= models(tmp_path), "another study's end deletes none of them"

    (studies / "user.yaml").write_text(USER.replace("triplet", "tripplet: 1"))
    write_model(plan.store, next(iter(confirmed(plan, 0, "contrastive"))))
    end(simulate(toy_study(resources={"keep_models": "best"}), tmp_path, score), tmp_path, studies)
    assert "no model is deleted" in capsys.readouterr().err, "a broken study may need any"


def test_a_model_that_only_the_storage_has_is_chosen_kept_and_deleted(toy_study, tmp_path):
    """Workers on other nodes leave their models there."""
    uri, study = f"file://{tmp_path}/remote", toy_study(resources={"keep_models": "best"})
    plan = simulate(study, tmp_path, score)
    there = TrialStore(tmp_path / "store", uri)
    for job, _ in plan.ended():
        there.push(job.key)
        shutil.rmtree(keeping.model_folder(there, job.key), ignore_errors=True)
    plan.store = there.look()
    best = best_model(plan)
    assert {best.key} == confirmed(plan, seed=1, loss="triplet")
    record(plan)
    assert set(dropped(there)) == confirmed(plan) - {best.key}
    assert delete_dropped(there, "toys")[0] == 3
    assert {path.parent.name for path in tmp_path.glob("remote/trials/*/model")} == {best.key}
    there.pull_folder(best.key, keeping.MODEL)
    assert (keeping.model_folder(there, best.key) / "model.json").is_file()


@pytest.mark.parametrize("hosts", [("a", "b"), ("a", "a")], ids=["two hosts", "two clones"])
def test_stores_that_share_a_storage_keep_each_others_models(toy_study, tmp_path, monkeypatch, hosts):
    """The same trials, of which each store keeps others: a model goes only where none keeps it."""
    uri, plans = f"file://{tmp_path}/remote", {}
    host = dict(zip(("first", "second"), hosts, strict=True))
    for node, policy in (("first", "cells"), ("second", "best")):
        monkeypatch.setattr("platform.node", lambda node=node: host[node])
        plan = plans[node] = simulate(toy_study(resources={"keep_models": policy}), tmp_path / node, score)
        plan.store = TrialStore(tmp_path / node / "store", uri)
        with mirrored(uri, tmp_path / node / "store", "toys"):
            for key in confirmed(plan):
                plan.store.push(key)
    there = lambda: {path.parent.name for path in tmp_path.glob("remote/trials/*/model")}  # noqa: E731
    for node, kept in (
        ("second", confirmed(plan)),  # the first has not decided
        ("first", confirmed(plan, seed=1)),
        ("second", confirmed(plan, seed=1)),
    ):
        monkeypatch.setattr("platform.node", lambda node=node: host[node])
        plans[node].store.look()
        with mirrored(uri, tmp_path / node / "store", "toys"):
            record(plans[node])
            delete_dropped(plans[node].store, "toys")
        assert there() == kept, node
    monkeypatch.setattr("platform.node", lambda: host["first"])
    name = f"sweeps/{owner(tmp_path / 'first/store')}/toys.keys"
    (tmp_path / "remote" / name).write_text("half a k")  # the first is writing it
    monkeypatch.setattr("platform.node", lambda: host["second"])
    with pytest.raises(StorageError, match=f"{name} is not whole"):
        dropped(plans["second"].store)
