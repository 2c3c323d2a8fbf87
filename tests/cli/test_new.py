"""`dml new`: the study that it writes is valid, and says what was found."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from dml import models
from dml.cli import collection, proposal
from dml.cli.new import describe, first_audit
from dml.config import load_study, study_from
from dml.data import sources
from dml.data.survey import survey
from dml.types import TrainingSpec

pytestmark = pytest.mark.slow


def test_a_study_is_written_and_described(dml, project, photos):
    done = dml("new", "mine", photos)
    assert done.code == 0, done.err
    path = project / "pipelines/studies/mine.yaml"
    study = load_study(path)
    (dataset,) = study.datasets
    assert (dataset.name, dataset.label, dataset.settings) == ("imagefolder", "mine", {"root": str(photos)})
    assert (dataset.resize, dataset.on_corrupt) == (32, "error")
    assert study.evaluation.views == "one"
    assert study.evaluation.sets == ("test",)
    assert study.training.batch.classes == 2  # three classes train, two of them fit when settings are tuned
    assert study.recipe == "scratch"
    assert len(study.cells()) == 8
    head = [line for line in path.read_text().splitlines() if line.startswith("# ")]
    assert head[0] == "# 48 images of 6 classes, 8 in each class; colour"
    assert head[:4] == [f"# {line}" for line in done.out.splitlines()[:4]]
    assert any("8 cells, 42 trials" in line for line in head)
    assert f"written: {path}" in done.out
    assert "download" not in done.err


def test_a_study_is_never_overwritten_unasked(dml, project, photos):
    before = (project / "pipelines/studies/tiny.yaml").read_text()
    done = dml("new", "tiny.yaml", photos)
    assert done.code == 1
    assert "tiny.yaml exists" in done.err
    assert "--force" in done.err
    assert (project / "pipelines/studies/tiny.yaml").read_text() == before
    assert dml("new", "tiny", photos, "--force").code == 0
    assert "48 images" in (project / "pipelines/studies/tiny.yaml").read_text()


def test_a_files_name_with_a_line_break_is_no_setting(dml, project, photos, tmp_path):
    """Facts are comments in the study: what follows a line break in a name, of any kind that YAML knows, is too."""
    folder = tmp_path / "odd"
    shutil.copytree(photos, folder)
    for number, sign in enumerate(("\n", "\r", "\x85", "\u2028", "\x1b[31m", "\x07")):
        (folder / f"kind0/{number}{sign}seeds: [7].png").write_bytes(b"no image")
    done = dml("new", "odd", folder)
    assert done.code == 0, done.err
    assert r"kind0/0\nseeds: [7].png (not a JPEG" in done.out
    text = (project / "pipelines/studies/odd.yaml").read_text(encoding="utf-8")
    assert r"# 6 images cannot be decoded: kind0/0\nseeds: [7].png (not a JPEG" in text
    assert yaml.safe_load(text)["seeds"] == [0, 1, 2]
    assert load_study(project / "pipelines/studies/odd.yaml").title == "odd"


def test_images_are_audited_first_if_features_are_there_or_take_seconds(dml, project, photos, monkeypatch):
    """Features of a network that would take longer than a limit are left to `dml look`, unless pixels will do."""
    done = dml("new", "mine", photos)
    assert "an audit by the pixels: " in done.out
    assert "# an audit by the pixels" in (project / "pipelines/studies/mine.yaml").read_text()
    spec, how = TrainingSpec(backbone="mlp", frozen=True), {"side": 8}
    monkeypatch.setattr(collection, "_of_network", lambda options: (spec, how))
    monkeypatch.setattr(collection, "of_each_view", lambda training, views: [training])
    monkeypatch.setattr(collection, "_seconds_each", lambda *_: 1000.0)
    assert "an audit by the pixels" in dml("new", "small", photos).out
    monkeypatch.setattr(collection, "PHOTOGRAPH", 1)
    monkeypatch.setattr(proposal, "PHOTOGRAPH", 1000)
    done = dml("new", "large", photos)
    assert done.code == 0, done.err
    assert "not audited yet" in done.out
    assert "dml look" in done.out


@pytest.mark.parametrize("with_root", [True, False])
def test_a_study_of_a_table(with_root, dml, project, photos, tmp_path):
    rows = [(path, path.parent.name) for path in sorted(photos.glob("*/*.png"))]
    root = photos if with_root else tmp_path
    paths = [path.relative_to(photos) if with_root else path for path, _ in rows]
    table = tmp_path / "labels.csv"
    pd.DataFrame({"image": paths, "fine": [kind for _, kind in rows], "who": "me"}).to_csv(table, index=False, sep=";")
    done = dml("new", "mine", table, *(["--column", "path=image", "--root", photos] if with_root else []))
    assert done.code == 0, done.err
    assert "columns that are not used: who" in done.err
    assert "48 images of 6 classes, 8 in each class; colour" in done.out
    (dataset,) = load_study(project / "pipelines/studies/mine.yaml").datasets
    assert dataset.settings == {"root": str(root), "table": str(table), "columns": {"path": "image"}}


def test_labels_as_given_are_trained_on_beside_the_verified_ones(dml, project, photos, tmp_path):
    rows = [(path, path.parent.name) for path in sorted(photos.glob("*/*.png"))]
    table, wrong = tmp_path / "labels.csv", {1: "kind3", 9: "kind0", 20: "kind4"}  # of the classes 0 to 2, that train
    given = [wrong.get(row, kind) for row, (_, kind) in enumerate(rows)]
    frame = pd.DataFrame({"path": [path for path, _ in rows], "truth": [kind for _, kind in rows], "given": given})
    frame.to_csv(table, index=False)
    done = dml("new", "mine", table, "--root", photos, "--column", "fine=truth")
    assert done.code == 0, done.err
    assert "4.5% of the labels as given are wrong" in done.out  # of 22 images that train by them: row 9
    path = project / "pipelines/studies/mine.yaml"
    assert [(noise.name, noise.rates) for noise in load_study(path).noise] == [("given", [0.045]), ("uniform", [0.0])]
    frame.drop(columns="truth").to_csv(table, index=False)
    assert dml("new", "mine", table, "--root", photos, "--force").code == 0
    study = load_study(path)
    assert study.datasets[0].evaluate_on == ["given"]
    assert [(noise.name, noise.rates) for noise in study.noise] == [("uniform", [0.0, 0.2])]


def propose(folder, gpu=False):
    return proposal.propose(survey(sources.build("imagefolder", root=str(folder)), folder), gpu)


def test_photographs_get_the_upper_blocks_of_a_pretrained_network(photos, tmp_path, monkeypatch):
    folder = tmp_path / "large"
    for path in photos.glob("*/*.png"):
        (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
        Image.open(path).resize((90, 70)).save(folder / path.parent.name / path.name)
    found = propose(folder)
    assert (found.recipe, found.resize, found.whitening) == ("partial", "network", True)
    looked = survey(sources.build("imagefolder", root=str(folder)), folder)
    text = proposal.study_text("large", {"root": str(folder)}, looked, found, [found.why])
    study = study_from(yaml.safe_load(text), "large")
    unmirrored = {"mirror: true": "mirror: false", "views: mirror": "views: one", "# augment:": "augment:"}
    for now, of_text in unmirrored.items():
        assert text.count(now) == 1
        text = text.replace(now, of_text)
    assert not study_from(yaml.safe_load(text), "large").datasets[0].mirrors
    native = models.pixels_of([("efficientnet_lite0", {})])
    assert study.datasets[0].resize == replace(native, crop=None)
    trained = study.training_of(study.cells()[-1])
    assert (trained.augment, trained.augment_settings.get("image_size", 224)) == ("random_resized_crop", native.side)
    assert (study.training.train_from, study.training.embedding_size) == ("blocks.5.0", 1280)
    assert study.training.head_refit == "whitening"
    assert study.search.stop == "best"
    assert (study.evaluation.views, study.datasets[0].mirror) == ("mirror", True)
    monkeypatch.setattr(models.find("efficientnet_lite0"), "check_installed", classmethod(absent))
    found = propose(folder)
    assert found.recipe == "scratch"
    assert found.why.endswith("no pretrained one is here: install it")


@pytest.mark.parametrize("better", ["efficientnet_lite0", "pixels"])
def test_small_images_start_from_what_finds_more_in_them(better, photos, tmp_path):
    """Class means apart in the one, and noise in the other, as `dml look` compares them."""
    generator = np.random.default_rng(0)
    codes = np.repeat(np.arange(9), 12)
    noise = generator.normal(size=(len(codes), 1, 16)).astype(np.float32)
    means = 3 * generator.normal(size=(9, 1, 16)).astype(np.float32)[codes]
    features = {name: noise + means * (name == better) for name in ("efficientnet_lite0", "pixels")}
    names = [str(row) for row in range(len(codes))]
    seen = collection.Collection(tmp_path, names, codes.astype(str), features, [], None, {}, None, None)
    text, best = first_audit(seen)
    assert best == better
    assert text
    looked = survey(sources.build("imagefolder", root=str(photos)), photos)
    found = proposal.propose(looked, False, best == proposal.PRETRAINED)
    wanted = ("partial", "network") if best == proposal.PRETRAINED else ("scratch", 32)
    assert (found.recipe, found.resize) == wanted
    written = yaml.safe_load(proposal.study_text("small", {"root": str(photos)}, looked, found, [found.why]))
    study = study_from(written, "small")
    assert study.training.backbone == (best if best == proposal.PRETRAINED else "small_conv")


def absent(cls, settings):
    raise ValueError("install it")


def test_a_file_of_ones_own_below_data_is_not_deleted(dml, project, photos):
    """`data/<study>` is what stages write; images there exist nowhere else."""
    own = project / "data/birds"
    shutil.copytree(photos, own)
    done = dml("new", "birds", own)
    assert done.code == 1
    assert "choose another name" in done.err
    assert sum(path.is_file() for path in own.rglob("*")) == 48
    assert not (project / "pipelines/studies/birds.yaml").exists()
    shutil.rmtree(own)
    (own / "split").mkdir(parents=True)
    shutil.copy(photos / "kind0/0.png", own / "split/0.png")
    assert "data/birds/split/0.png" in dml("new", "birds", photos).err
    assert (own / "split/0.png").is_file()
    (own / "split/0.png").unlink()
    assert dml("new", "birds", photos).code == 0
    assert not own.exists()


@pytest.fixture
def texts(tmp_path):
    """300 vectors of 40 numbers and 10 classes, of which some rows have the same text, as `new` may be given them."""
    random = np.random.default_rng(0)
    classes = np.repeat(np.arange(10), 30)
    vectors = (3 * random.normal(size=(10, 40))[classes] + random.normal(size=(300, 40))).astype(np.float32)
    table = pd.DataFrame({"text": [f"text {row % 7}" for row in range(300)], "label": [f"k{k}" for k in classes]})
    np.save(tmp_path / "x.npy", vectors)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.assign(vector=list(vectors)).to_parquet(tmp_path / "both.parquet", index=False)
    pd.concat([table, pd.DataFrame(vectors).add_prefix("e")], axis=1).to_csv(tmp_path / "both.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("words", [["x.npy", "--labels", "t.csv"], ["both.parquet"], ["both.csv"]])
def test_a_study_of_vectors_fits_them(dml, project, texts, words):
    done = dml("new", "texts", *(texts / word if "." in word else word for word in words))
    assert done.code == 0, done.err
    assert "300 vectors of 10 classes" in done.out
    assert re.search(r"an audit by your vectors: some [0-9.]+% of the labels look wrong", done.out)
    study = load_study(project / "pipelines/studies/texts.yaml")
    dataset, batch = study.datasets[0], study.training.batch
    assert (dataset.name, dataset.settings["columns"]) == ("features", {"fine": "label", "path": "text"})
    assert (study.training.embedding_size, study.training.backbone) == (40, "identity"), "no head shorter than vectors"
    assert batch.classes <= 3, "half of the five classes that train tune"
    source = sources.build("features", **dataset.settings)
    assert source.vectors(texts).shape == (300, 40)
    assert [record["path"] for record in source.images(texts)][6:8] == ["text 6", "text 0"]


def test_a_copy_is_named_by_the_beginning_of_a_long_text(tmp_path):
    vectors = list(np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32))
    vectors[1] = vectors[0]
    texts = [f"{row} " + "long text " * 50 for row in range(40)]
    pd.DataFrame({"vector": vectors, "path": texts, "fine": np.arange(40) // 4}).to_parquet(tmp_path / "t.parquet")
    place = str(tmp_path / "t.parquet")
    lines = describe(survey(sources.build("features", vectors=place, table=place), tmp_path))
    (line,) = [line for line in lines if "copy" in line]
    assert "0 long text" in line
    assert "1 long text" in line
    assert len(line) < 250
