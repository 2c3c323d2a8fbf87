"""Which models stay on disk, and that one that somebody needs never goes."""

import re
import shutil
import signal
import subprocess
import sys

import pandas as pd
import pytest
from simulated import models, running, simulate, write_model

from dml.files import locked
from dml.sweep import retention as keeping
from dml.sweep.progress.results import trials_frame
from dml.sweep.retention import best_model, delete_dropped, dropped
from dml.sweep.run import tidy
from dml.sweep.store.init_from import InitFromFinder, needed_keys, studies_that_start
from dml.sweep.store.trials import TrialStore

pytestmark = pytest.mark.slow


def score(job):
    """Triplet is the best in validation and the worst in the test; of its seeds, the second is the best."""
    triplet = job.cell.loss.name == "triplet"
    if job.phase == "tune":
        return 0.9 if triplet else 0.8
    return (0.1 if triplet else 0.5) + 0.01 * (job.seed == 1)


def write_table(plan, root):
    out = root / "results" / plan.study.name
    out.mkdir(parents=True, exist_ok=True)
    trials_frame(plan.study, plan).to_parquet(out / "trials.parquet")


def end(plan, root, studies=None):
    """What a sweep does when it ends."""
    write_table(plan, root)
    tidy(plan, root / "results", studies)


def confirmed(plan, seed=None, loss=None):
    """Keys of confirmed trials."""
    found = [job for state in plan.states for job, _ in state.confirmed.values()]
    return {j.key for j in found if seed in (None, j.seed) and loss in (None, j.cell.loss.name)}


@pytest.mark.parametrize(
    ("small", "kept"),
    [
        (10**6, lambda plan: confirmed(plan, seed=1)),
        (300, lambda plan: confirmed(plan, seed=1, loss="triplet")),  # a model has about 170 bytes
    ],
)
def test_the_best_seed_of_each_cell_stays_or_of_large_models_that_of_the_best_cell(
    toy_study, tmp_path, monkeypatch, small, kept, capsys
):
    monkeypatch.setattr(keeping, "SMALL", small)
    study = toy_study(seeds=[0, 1, 2])
    plan = simulate(study, tmp_path, score)
    assert models(tmp_path) == confirmed(plan)
    end(plan, tmp_path)
    assert models(tmp_path) == kept(plan)
    gone = len(confirmed(plan)) - len(kept(plan))
    said = re.findall(r"(?<=kept |eted )\d+", capsys.readouterr().out)
    assert said == [str(len(kept(plan))), str(gone)]
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
def test_the_best_model_is_trained_with_labels_as_given(toy_study, tmp_path, monkeypatch, changes, kept, best):
    monkeypatch.setattr(keeping, "SMALL", 0)
    noise = [{"name": "uniform", "rates": changes["rates"]}]
    study = toy_study(seeds=[0], noise=noise, **{name: value for name, value in changes.items() if name != "rates"})
    plan = simulate(study, tmp_path, over_levels)
    key, names = best_model(trials_frame(study, plan), plan.store), {job.key: job.cell.name for job, _ in plan.ended()}
    assert (None if key is None else names[key]) == (best and f"{best}|triplet|random+random")
    end(plan, tmp_path)
    assert sorted(names[key] for key in models(tmp_path)) == [f"{name}|triplet|random+random" for name in kept]


def test_a_model_that_another_study_of_the_store_keeps_stays(toy_study, tmp_path):
    """The same trials in two studies, of which one lacks the best seed."""
    plans = [simulate(toy_study(name=f"s{n}", seeds=seeds), tmp_path, score) for n, seeds in enumerate(([0, 1], [0]))]
    write_table(plans[1], tmp_path)
    for plan in plans:
        end(plan, tmp_path)
    assert models(tmp_path) == confirmed(plans[0]), "the best seed of each"


def test_what_an_interrupted_sweep_has_confirmed_stays(toy_study, tmp_path):
    """Others ended before their first trial, and without a trial that finished."""
    plan = simulate(toy_study(), tmp_path, score)
    trials = trials_frame(plan.study, plan)
    others = {"store/sweeps/other.live": trials, "store/sweeps/at-once.live": pd.DataFrame()}
    for place, table in {**others, "results/failed": trials.assign(status="failed")}.items():
        (tmp_path / place).mkdir(parents=True)
        table.to_parquet(tmp_path / place / "trials.parquet")
    end(plan, tmp_path)
    assert models(tmp_path) == confirmed(plan)


def test_nothing_is_deleted_while_another_sweep_runs(toy_study, tmp_path):
    plan = simulate(toy_study(), tmp_path, score)
    with running(tmp_path):
        end(plan, tmp_path)
        assert models(tmp_path) == confirmed(plan)
        assert len(dropped(plan.store, tmp_path / "results")) == 2
    with locked(tmp_path / "store/sweeps/toys.lock"):  # its own, as in a sweep
        assert delete_dropped(plan.store, tmp_path / "results", "toys")[0] == 2


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
delete_dropped(TrialStore(Path(sys.argv[1]) / "store"), Path(sys.argv[1]) / "results", "toys")
"""


def test_a_deletion_that_is_killed_in_the_middle_leaves_no_half_model_and_is_completed(toy_study, tmp_path):
    plan = simulate(toy_study(), tmp_path, score)
    write_table(plan, tmp_path)
    process = subprocess.Popen([sys.executable, "-c", KILL, str(tmp_path)], stdout=subprocess.PIPE, text=True)
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


def test_models_that_another_study_starts_from_stay(toy_study, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(keeping, "SMALL", 0)
    studies = tmp_path / "studies"
    studies.mkdir()
    (studies / "user.yaml").write_text(USER)
    plan = simulate(toy_study(), tmp_path, score)
    end(plan, tmp_path, studies)
    starts = InitFromFinder(tmp_path / "results", tmp_path / "store")
    needed = needed_keys(studies_that_start(studies), starts)
    assert needed == confirmed(plan, 0, "triplet"), "of the same seed, else of the first one"
    assert models(tmp_path) == needed | confirmed(plan, 1, "triplet")

    (studies / "heir.yaml").write_text("extends: user\ntitle: Starts as the study that it extends\n")
    assert [study.name for study in studies_that_start(studies)] == ["heir", "user"]

    for path in (tmp_path / "results").rglob("*.parquet"):  # as `make clean` does
        path.unlink()
    end(simulate(toy_study(name="other", losses=["margin"]), tmp_path, score), tmp_path, studies)
    assert needed <= models(tmp_path), "no table names them, so nothing deletes them"

    (studies / "user.yaml").write_text(USER.replace("triplet", "tripplet: 1"))
    write_model(plan.store, next(iter(confirmed(plan, 0, "contrastive"))))
    end(simulate(toy_study(), tmp_path, score), tmp_path, studies)
    assert "no model is deleted" in capsys.readouterr().err, "a broken study may need any"


def test_a_model_that_only_the_storage_has_is_chosen_and_stays_there(toy_study, tmp_path):
    """Workers on other nodes leave their models there, and other machines may use them."""
    study = toy_study()
    plan = simulate(study, tmp_path, score)
    there = TrialStore(tmp_path / "store", f"file://{tmp_path}/remote")
    for job, _ in plan.ended():
        there.push(job.key)
        shutil.rmtree(keeping.model_folder(there, job.key), ignore_errors=True)
    plan.store = there.look()
    end(plan, tmp_path)
    assert {path.parent.name for path in tmp_path.glob("remote/trials/*/model")} == confirmed(plan)
    best = best_model(trials_frame(study, plan), there)
    assert {best} == confirmed(plan, seed=1, loss="triplet")
    there.pull_folder(best, keeping.MODEL)
    assert (keeping.model_folder(there, best) / "model.json").is_file()
