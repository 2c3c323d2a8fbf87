"""`dml embed`: the vectors of files are those of the model applied to the resized pixels."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml import models
from dml.training.model_files import TrainedEmbedder, save_model


def expected(model, paths, resampling=Image.Resampling.BILINEAR):
    """Pillow and the model, without what the command uses to read images."""
    images = [Image.open(path).convert("RGB").resize((12, 12), resampling) for path in paths]
    return TrainedEmbedder(model)(np.stack([np.asarray(image) for image in images]))


def test_a_folder_becomes_an_array_and_the_paths_of_its_rows(dml, model, photos, tmp_path):
    done = dml("embed", model, photos, "-o", tmp_path / "v.npy")
    assert done.code == 0, done.err
    vectors, paths = np.load(tmp_path / "v.npy"), pd.read_csv(tmp_path / "v.csv")["path"]
    assert paths.tolist() == [str(path) for path in sorted(photos.rglob("*.png"))]
    assert (vectors.dtype, vectors.shape) == (np.float32, (48, 5))
    np.testing.assert_allclose(vectors, expected(model, paths), atol=1e-6)
    assert "48 vectors of 5 numbers" in done.out


def test_images_are_resized_as_those_that_trained(dml, model, photos, tmp_path):
    own = tmp_path / "model"
    shutil.copytree(model, own)
    described = json.loads((own / "model.json").read_text())
    (own / "model.json").write_text(json.dumps({**described, "resize": {"side": 12, "interpolation": "bicubic"}}))
    dml("embed", own, photos, "-o", tmp_path / "v.npy")
    paths = sorted(photos.rglob("*.png"))
    vectors = np.load(tmp_path / "v.npy")
    np.testing.assert_allclose(vectors, expected(model, paths, Image.Resampling.BICUBIC), atol=1e-6)
    assert abs(vectors - expected(model, paths)).max() > 1e-3


def test_a_corrupt_file_is_an_error_or_left_out(dml, model, photos, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/bad.png").write_bytes(b"no image")
    (tmp_path / "in/good.png").write_bytes((photos / "kind0/0.png").read_bytes())
    command = ("embed", model, tmp_path / "in", "-o", tmp_path / "v.npy")
    done = dml(*command)
    assert done.code == 1
    assert "(--skip-corrupt leaves such files out)" in done.err
    assert not (tmp_path / "v.npy").exists()
    done = dml(*command, "--skip-corrupt")
    assert done.code == 0
    assert "1 left out" in done.err
    assert pd.read_csv(tmp_path / "v.csv")["path"].tolist() == [str(tmp_path / "in/good.png")]
    search = ("search", model, photos, tmp_path / "in", "-o", tmp_path / "s.html")
    assert dml(*search).code == 1
    assert dml(*search, "--skip-corrupt").code == 0
    for name in ("in/good.png", "v.npy", "v.csv"):
        (tmp_path / name).unlink()
    assert "none of 1 images can be decoded" in dml(*command, "--skip-corrupt").err


@pytest.mark.parametrize(("name", "out"), [("v.npy", "v.npy"), ("v.parquet", "v.parquet"), ("v.csv", "v.npy")])
def test_a_file_that_is_there_is_not_overwritten(dml, model, photos, tmp_path, name, out):
    (tmp_path / name).write_text("mine\n")
    done = dml("embed", model, photos, "-o", tmp_path / out)
    assert done.code == 2
    assert f"{name} exists" in done.err
    assert (tmp_path / name).read_text() == "mine\n"


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """The folder of a head on vectors of 6 numbers."""
    network = {"backbone": "identity", "embedding_size": 3, "channels": 6}
    folder = tmp_path_factory.mktemp("head")
    description = {"network": network, "augment": None, "normalize": True, "image_shape": [6]}
    save_model(folder, models.build(**network), description)
    return folder


def test_a_model_of_vectors_takes_a_file_of_them(dml, head, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.cli.models.ROWS", 4)
    given = np.random.default_rng(0).normal(size=(10, 6))
    np.save(tmp_path / "given.npy", given)
    done = dml("embed", head, tmp_path / "given.npy", "-o", tmp_path / "v.npy")
    assert (done.code, done.out) == (0, f"{tmp_path / 'v.npy'}: 10 vectors of 3 numbers\n"), done.err
    assert not (tmp_path / "v.csv").exists()
    expected = TrainedEmbedder(head)(given)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-6)
    assert dml("embed", head, tmp_path / "given.npy", "-o", tmp_path / "v.parquet").code == 0
    table = pd.read_parquet(tmp_path / "v.parquet")
    assert table.columns.tolist() == ["vector"]
    np.testing.assert_allclose(np.stack(table["vector"]), expected, atol=1e-6)


def test_options_of_the_other_kind_of_model_are_refused(dml, model, head, photos, tmp_path):
    np.save(tmp_path / "given.npy", np.zeros((3, 6)))
    for command in (
        ("embed", model, photos, "--column", "fine=zzz", "-o", tmp_path / "v.npy"),
        ("embed", head, tmp_path / "given.npy", "--skip-corrupt", "-o", tmp_path / "v.npy"),
        ("search", head, tmp_path / "given.npy", "1", "--skip-corrupt", "-o", tmp_path / "p.html"),
        ("search", photos, photos, "--noise", "uniform-0.2", "-o", tmp_path / "p.html"),
    ):
        assert dml(*command).code == 2
    assert [path.name for path in tmp_path.glob("[vp].*")] == []


def test_a_query_may_be_a_row_of_the_vectors_that_a_model_searches(dml, head, tmp_path):
    given = np.random.default_rng(0).normal(size=(10, 6))
    np.save(tmp_path / "given.npy", given)
    done = dml("search", head, tmp_path / "given.npy", "7", "-k", "2", "-o", tmp_path / "page.html")
    assert done.code == 0, done.err
    embedded = TrainedEmbedder(head)(given)
    distances = np.linalg.norm(embedded - embedded[7], axis=1)
    nearest = int(np.argsort(distances)[1])
    assert f"{np.sort(distances)[1]:.3f}  row {nearest}\n" in done.out
    assert dml("search", head, tmp_path / "given.npy", "10", "-o", tmp_path / "page.html").code == 2
    texts = [f"{row} " + "long " * 60 for row in range(10)]
    pd.DataFrame(given).add_prefix("e").assign(topic=range(10), Text=texts).to_csv(own := tmp_path / "own.csv")
    called = ["--column", "fine=topic", "-k", "2", "-o", tmp_path / "page.html"]
    assert f"  {nearest} long" in dml("search", head, own, texts[7], *called).out
    assert dml("search", head, own, texts[7] + "x", *called).code == 2
    assert "of 10 vectors for 10 queries" in dml("search", own, own, *called).out
    assert dml("search", own, texts[7], texts[1], *called).code == 0
    pd.DataFrame({"text": texts[1:]}).to_csv(short := tmp_path / "short.csv")
    for command in (("search", head), ("search",)):
        done = dml(*command, tmp_path / "given.npy", "3", "--labels", short, "-o", tmp_path / "page.html")
        assert (done.code, "expected 10 rows" in done.err) == (1, True), done.err
    assert dml("embed", head, own, "--column", "fine=topic", "-o", tmp_path / "own.npy").code == 0
    np.testing.assert_allclose(np.load(tmp_path / "own.npy"), embedded, atol=1e-5)
