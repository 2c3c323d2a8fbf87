"""Files that a study names: missing ones are named with the line, before anything runs."""

import pytest

from dml.config import ConfigError, check_data, check_files, load_study

STUDY = """\
title: Own weights
datasets: [digits]
losses: [triplet]
training:
  backbone: {name: mobilenet_v1, settings: {width: 0.25}}
grid:
  training.backbone.weights: [null, WEIGHTS]
"""


def check(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    check_files(load_study(path), path)


def test_the_line_of_a_missing_file(tmp_path):
    (tmp_path / "a.pth").write_bytes(b"")
    check(tmp_path, STUDY.replace("WEIGHTS", str(tmp_path / "a.pth")))
    with pytest.raises(
        ConfigError, match=r"own\.yaml:7: grid\.training\.backbone\.weights\[1\]: weights: none\.pth: no such file"
    ):
        check(tmp_path, STUDY.replace("WEIGHTS", "none.pth"))
    fixed = STUDY.partition("grid")[0].replace("0.25", "0.25, weights: none.bin")
    with pytest.raises(ConfigError, match=r"own\.yaml:5: training\.backbone\.settings: weights: none\.bin: expected"):
        check(tmp_path, fixed)
    check(tmp_path, STUDY.partition("grid")[0])


def check_own(tmp_path, monkeypatch, text, packed=(), tunes=lambda cell: False):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.yaml"
    path.write_text(f"title: Own\nlosses: [triplet]\n{text}\n")
    check_data(load_study(path), path, packed, tunes)


def test_a_users_own_images_and_labels_must_exist(tmp_path, monkeypatch):
    (tmp_path / "photos").mkdir()
    images = "datasets: [{name: imagefolder, settings: {root: ROOT}}]"
    check_own(tmp_path, monkeypatch, images.replace("ROOT", "photos"))
    with pytest.raises(ConfigError, match=r"own\.yaml:3: datasets\[0\]\.settings\.root: 'absent' does not exist"):
        check_own(tmp_path, monkeypatch, images.replace("ROOT", "absent"))
    check_own(tmp_path, monkeypatch, images.replace("ROOT", "absent"), packed=["imagefolder"])
    with pytest.raises(ConfigError, match=r"own\.yaml:3: datasets\[0\]\.settings\.table: 't\.csv' does not exist"):
        check_own(tmp_path, monkeypatch, images.replace("ROOT", "photos, table: t.csv"))
    with pytest.raises(ConfigError, match=r"own\.yaml:3: datasets\[0\]: .*root: expected text, got 2024"):
        check_own(tmp_path, monkeypatch, images.replace("ROOT", "2024"))
    with pytest.raises(ConfigError, match=r"own\.yaml:3: datasets\[0\]\.settings\.vectors: 'v\.npy' does not exist"):
        check_own(tmp_path, monkeypatch, "datasets: [{name: features, settings: {vectors: v.npy, table: t.csv}}]")


def test_a_file_of_noisy_labels_must_exist(tmp_path, monkeypatch):
    noise = "datasets: [digits]\ntraining: {batch: {classes: 3}}\nnoise: [{name: label_file, settings: {path: n.csv}}]"
    with pytest.raises(ConfigError, match=r"own\.yaml:5: noise\[0\]\.settings\.path: 'n\.csv' does not exist"):
        check_own(tmp_path, monkeypatch, noise)
    (tmp_path / "n.csv").write_text("")
    check_own(tmp_path, monkeypatch, noise)


@pytest.mark.parametrize(("train_on", "most", "tuned"), [("fine", 6, 3), ("coarse", 2, 2)])
def test_a_batch_has_at_most_the_classes_that_the_source_states(tmp_path, monkeypatch, train_on, most, tuned):
    def text(classes, sampler=""):
        return (
            f"datasets: [{{name: mnist, train_on: {train_on}}}]\ntraining: {{batch: {{{sampler}classes: {classes}}}}}"
        )

    for classes, tunes in ((most, False), (tuned, True)):
        check_own(tmp_path, monkeypatch, text(classes), tunes=lambda cell, tunes=tunes: tunes)
        with pytest.raises(ConfigError, match=rf"own\.yaml:4: training\.batch: .* 'mnist' trains on {classes}\b"):
            check_own(tmp_path, monkeypatch, text(classes + 1), tunes=lambda cell, tunes=tunes: tunes)
    check_own(tmp_path, monkeypatch, text(most + 1, "sampler: random, "))
