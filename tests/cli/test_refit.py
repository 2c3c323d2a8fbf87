"""`dml refit`: from a study's results to a registered model that embeds as the network itself."""

import json
import shutil
from types import SimpleNamespace

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from safetensors.numpy import load_file
from stages import packed_digits

from dml import models
from dml.data.packing import open_packed
from dml.files import write_json
from dml.training.loop import Training

NAME = "tiny"
STEPS = 24
CARD = "champion.json"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*type hint:UserWarning"),  # of MLflow, about its own classes
]


@pytest.fixture
def packed(swept, monkeypatch):
    """The packed digits of the project's study, whose network is a small convolutional one."""
    study = swept / "pipelines/studies/tiny.yaml"
    text = study.read_text().replace("backbone: mlp", "backbone: {name: small_conv, settings: {width: 4}}")
    study.write_text(text.replace("steps: 3", f"steps: {STEPS}, learning_rate: 0.01"))
    packed_digits(swept, "tiny")
    monkeypatch.setattr("dml.cli.refit._pack", lambda *given: None)
    return open_packed(swept / "store/packed/digits")


@pytest.fixture
def untracked(monkeypatch):
    """MLflow is replaced by nothing, which saves seconds."""
    monkeypatch.setattr("dml.cli.refit._register", lambda *given: 1)


@pytest.fixture
def onnxruntime():
    for name in ("onnx", "onnxscript"):
        pytest.importorskip(name, reason="the extra `onnx` is not installed")
    return pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")


def folder_of(project, name=NAME):
    (found,) = (project / "store/champions" / name).glob("*/model")
    return found


def by_hand(folder, images):
    """Images uint8 (N, H, W, 1) -> embeddings, from the weights and what the card says."""
    card = json.loads((folder / CARD).read_text())
    network = models.build(**card["network"])
    network.load_state_dict({name: torch.from_numpy(w) for name, w in load_file(folder / "model.safetensors").items()})
    mean, std = (torch.tensor(card["preprocessing"][name]).view(-1, 1, 1) for name in ("mean", "std"))
    pixels = (torch.from_numpy(images).permute(0, 3, 1, 2) / 255 - mean) / std
    with torch.no_grad():
        found = network.eval()(pixels)
    return torch.nn.functional.normalize(found).numpy()


@pytest.mark.slow
def test_the_winner_is_trained_on_all_images_registered_and_embeds(
    dml, swept, packed, empty_database, onnxruntime, tmp_path
):
    shutil.copy(empty_database, swept / "mlflow.db")
    done = dml("refit", NAME, "--rate", 0.1, "--onnx")
    assert done.code == 0, done.err
    assert "triplet, easy + random: the best of tiny at 10% wrong labels" in done.out
    assert f"training on 1797 images of 2 classes (as given), {STEPS} steps" in done.out
    folder = folder_of(swept)
    card = json.loads((folder / CARD).read_text())
    assert card["dataset"]["images"] == len(packed.index) == 1797
    assert card["recipe"]["level"] == 0.0
    assert card["training"]["spec"]["training"]["steps"] == STEPS
    assert card["training"]["spec"]["miner"]["positives"] == "easy"
    assert not (folder.parent / "checkpoint").exists()

    uri = f"sqlite:///{swept / 'mlflow.db'}"
    client = mlflow.MlflowClient(tracking_uri=uri, registry_uri=uri)
    version = client.get_model_version_by_alias(NAME, "champion")
    assert version.version in (1, "1")
    run = client.get_run(version.run_id)
    assert run.data.tags["dml.kind"] == "champion"
    assert run.data.params["rate"] == "0.1"
    assert run.data.metrics["recipe/test/fine/recall_at_1.mean"] == pytest.approx(
        card["recipe"]["methods"][0]["mean"] / 100
    )

    images = packed.images[[3, 5, 8]].copy()
    (tmp_path / "photos").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image[:, :, 0]).save(tmp_path / f"photos/{number}.png")
    expected = by_hand(folder, images)
    for number, model in enumerate(("models:/tiny@champion", folder, folder.parent)):
        done = dml("embed", model, tmp_path / "photos", "-o", tmp_path / f"{number}.npy")
        assert done.code == 0, done.err
        np.testing.assert_allclose(np.load(tmp_path / f"{number}.npy"), expected, atol=1e-5)
    mlflow.set_tracking_uri(uri)
    served = mlflow.pyfunc.load_model("models:/tiny@champion")
    np.testing.assert_allclose(served.predict(images), expected, atol=1e-5)
    assert served.metadata.signature.inputs.inputs[0].shape == (-1, 8, 8, 1)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    for count in (1, 3, 50):
        batch = packed.images[:count].copy()
        (found,) = session.run(None, {"images": batch})
        np.testing.assert_allclose(found, by_hand(folder, batch), atol=1e-4)
    again = dml("refit", NAME, "--rate", 0.1, "--onnx")
    assert "trained already" in again.out
    assert "(version 1)" in again.out
    labels = pd.DataFrame({"index": packed.index["index"], "label": packed.index["coarse"]})
    labels.loc[:9, "label"] = -1
    labels.to_csv("labels.csv", index=False)
    assert dml("refit", NAME, "--labels", "none.csv").code == 2
    other = dml("refit", NAME, "--rate", 0.1, "--labels", "labels.csv")
    assert "training on 1787 images of 2 classes (labels.csv, 10 left out)" in other.out
    assert "(version 2)" in other.out
    assert str(client.get_model_version_by_alias(NAME, "champion").version) == "2"


def test_without_a_rate_the_winner_is_that_of_labels_as_given(dml, swept, packed, untracked):
    frame = pd.read_parquet(swept / "results/tiny/trials.parquet")
    frame.loc[(frame["rate"] == 0.4) & (frame["positives"] == "random"), "test/fine/recall@1"] = 0.9
    frame.to_parquet(swept / "results/tiny/trials.parquet")
    write_json(swept / "audit/tiny/summary.json", {"rate": {"guess": 0.3}})
    assert dml("refit", NAME).code == 0
    card = json.loads((folder_of(swept) / CARD).read_text())
    assert card["training"]["spec"]["miner"]["positives"] == "easy"
    assert (card["recipe"]["level"], card["recipe"]["rate"]) == (0.0, 0.3)


def test_a_study_that_changed_is_packed_again(dml, swept, untracked):
    study = swept / "pipelines/studies/tiny.yaml"
    before = study.read_text()
    for side in (8, 4):
        study.write_text(before.replace("- name: digits", f"- name: digits\n    resize: {side}"))
        done = dml("refit", NAME, "--name", f"of-{side}")
        assert done.code == 0, done.err
        card = json.loads((folder_of(swept, f"of-{side}") / "champion.json").read_text())
        assert card["preprocessing"]["shape"] == [side, side, 1]


def test_an_interrupted_training_resumes_with_the_same_weights(dml, swept, packed, monkeypatch, untracked):
    assert dml("refit", NAME, "--rate", 0, "--name", "whole").code == 0
    steps, train_step = [], Training._train_step

    def interrupted(training):
        steps.append(training.step)
        if training.step == 15:
            raise KeyboardInterrupt
        train_step(training)

    with monkeypatch.context() as patched:
        patched.setattr(Training, "_train_step", interrupted)
        done = dml("refit", NAME, "--rate", 0)
        assert done.code == 130
        assert "The same command resumes" in done.err
    assert steps == list(range(16))
    steps.clear()
    with monkeypatch.context() as patched:
        patched.setattr(Training, "_train_step", lambda training: (steps.append(training.step), train_step(training)))
        assert dml("refit", NAME, "--rate", 0).code == 0
    assert steps == list(range(15, STEPS))
    both = [load_file(folder_of(swept, name) / "model.safetensors") for name in (NAME, "whole")]
    for name, weight in both[0].items():
        np.testing.assert_array_equal(weight, both[1][name])


def test_what_is_free_is_a_model_before_any_trial(dml, project, monkeypatch, untracked):
    """Nothing is compared, so the card has no score; without --free the study must run first."""
    study = project / "pipelines/studies/tiny.yaml"
    text = "title: T\ndatasets: [{name: cars196}]\nlosses: [softmax, whitening]\nseeds: [0]\n"
    text += "noise: [{name: uniform, rates: [0.2, 0.0]}]\nrecipe: partial\n"
    section = "training: {backbone: efficientnet_lite0, train_from: blocks.5.0}\n"
    study.write_text(text + section)
    winners = []

    def found(winner, *others):
        winners.append(winner)
        return SimpleNamespace(folder=project)

    monkeypatch.setattr("dml.sweep.champions.train_champion", found)
    monkeypatch.setattr("dml.cli.refit._pack", lambda *given: None)
    done = dml("refit", NAME)
    assert (done.code, "dml refit tiny --free" in done.err, winners) == (1, True, [])
    done = dml("refit", NAME, "--free")
    assert done.code == 0, done.err
    (winner,) = winners
    assert (winner.cell.loss.name, winner.cell.rate, winner.rate) == ("whitening", 0.0, None)
    assert [winner.recipe["methods"][0][name] for name in ("cell", "mean")] == [winner.cell.name, None]
    assert winner.recipe["settings"] == winner.settings
    study.write_text(study.read_text().replace(", whitening", ""))
    done = dml("refit", NAME, "--free")
    assert (done.code, "whitening" in done.err) == (1, True)
