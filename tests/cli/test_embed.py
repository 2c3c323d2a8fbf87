"""`dml embed`: the vectors of files are those of the model applied to the resized pixels."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml.training.model_files import TrainedEmbedder


def expected(model, paths):
    """Pillow and the model, without what the command uses to read images."""
    images = [Image.open(path).convert("RGB").resize((12, 12), Image.Resampling.BILINEAR) for path in paths]
    return TrainedEmbedder(model)(np.stack([np.asarray(image) for image in images]))


def test_a_folder_becomes_an_array_and_the_paths_of_its_rows(dml, model, photos, tmp_path):
    done = dml("embed", model, photos, "-o", tmp_path / "v.npy")
    assert done.code == 0, done.err
    vectors, paths = np.load(tmp_path / "v.npy"), pd.read_csv(tmp_path / "v.csv")["path"]
    assert paths.tolist() == [str(path) for path in sorted(photos.rglob("*.png"))]
    assert (vectors.dtype, vectors.shape) == (np.float32, (48, 5))
    np.testing.assert_allclose(vectors, expected(model, paths), atol=1e-6)
    assert "48 vectors of 5 numbers" in done.out


def test_files_in_the_given_order_become_a_table(dml, model, photos, tmp_path):
    files = [photos / "kind3/1.png", photos / "kind0/0.png"]
    assert dml("embed", model.parent, *files, "-o", tmp_path / "v.parquet").code == 0
    table = pd.read_parquet(tmp_path / "v.parquet")
    assert table["path"].tolist() == [str(path) for path in files]
    np.testing.assert_allclose(np.stack(table["vector"]), expected(model, files), atol=1e-6)


def test_more_images_than_a_batch_keep_their_order(dml, model, photos, tmp_path, monkeypatch):
    monkeypatch.setattr("dml.cli.vectors.BATCH", 7)
    dml("embed", model, photos, "-o", tmp_path / "v.npy")
    vectors = np.load(tmp_path / "v.npy")
    np.testing.assert_allclose(vectors, expected(model, sorted(photos.rglob("*.png"))), atol=1e-6)


def test_a_corrupt_file_is_an_error_or_left_out(dml, model, photos, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/bad.png").write_bytes(b"no image")
    (tmp_path / "in/good.png").write_bytes((photos / "kind0/0.png").read_bytes())
    command = ("embed", model, tmp_path / "in", "-o", tmp_path / "v.npy")
    done = dml(*command)
    assert done.code == 1
    assert "AVIF image (--skip-corrupt leaves such files out)" in done.err
    assert not (tmp_path / "v.npy").exists()
    done = dml(*command, "--skip-corrupt")
    assert done.code == 0
    assert "1 left out" in done.err
    assert pd.read_csv(tmp_path / "v.csv")["path"].tolist() == [str(tmp_path / "in/good.png")]
    (tmp_path / "in/good.png").unlink()
    assert "none of 1 images can be decoded" in dml(*command, "--skip-corrupt").err


def test_a_name_that_is_not_utf8_is_named(dml, model, photos, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/good\udcff.png").write_bytes((photos / "kind0/0.png").read_bytes())
    assert r"good\xff.png': the name is not UTF-8" in dml("embed", model, tmp_path / "in", "-o", tmp_path / "v.npy").err
    assert not (tmp_path / "v.npy").exists()


@pytest.mark.parametrize(
    ("images", "out", "code", "message"),
    [
        ("", "v.txt", 2, "expected a file that ends in"),
        ("missing", "v.npy", 1, "no such file or folder"),
        ("empty", "v.npy", 1, "no images (.avif, "),
    ],
)
def test_what_cannot_be_done_is_said(dml, model, photos, tmp_path, images, out, code, message):
    (tmp_path / "empty").mkdir()
    done = dml("embed", model, (tmp_path / images) if images else photos, "-o", tmp_path / out)
    assert done.code == code
    assert message in done.err


def test_a_model_that_takes_no_images_is_refused(dml, model, photos, tmp_path):
    copy = tmp_path / "model"
    copy.mkdir()
    (copy / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes())
    text = (model / "model.json").read_text()
    (copy / "model.json").write_text(
        text.replace('"image_shape": [\n    12,\n    12,\n    3\n  ]', '"image_shape": [5]')
    )
    done = dml("embed", copy, photos, "-o", tmp_path / "v.npy")
    assert done.code == 1
    assert "does not take images" in done.err


def test_paths_are_not_written_over_a_file_of_the_user(dml, model, photos, tmp_path):
    (tmp_path / "v.csv").write_text("mine\n")
    done = dml("embed", model, photos, "-o", tmp_path / "v.npy")
    assert done.code == 2
    assert "v.csv exists" in done.err
    assert (tmp_path / "v.csv").read_text() == "mine\n"
