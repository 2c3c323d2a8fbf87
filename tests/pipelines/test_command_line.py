"""A new user's way with the command line: a folder of images, a study of it, a search with its model."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def test_from_a_folder_of_images_to_a_search(project, tmp_path_factory):
    photos = tmp_path_factory.mktemp("photos")
    generator = np.random.default_rng(0)
    for number in range(8):
        (photos / f"kind{number}").mkdir()
        patch = generator.integers(0, 256, (4, 4, 3))
        for image in range(6):
            pixels = np.clip(patch + generator.normal(0, 20, (4, 4, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).resize((16, 16)).save(photos / f"kind{number}/{image}.png")
    shutil.copytree(ROOT / "dml", project.root / "dml", ignore=shutil.ignore_patterns("__pycache__"))
    project.environment |= {"PYTHONPATH": str(project.root)}
    project.track()
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)

    def dml(*arguments):
        done = project.run(sys.executable, "-m", "dml", *map(str, arguments), timeout=500)
        assert done.code == 0, done.text
        return done.text

    assert "48 images of 8 classes" in dml("new", "mine", photos)
    path = project.root / "pipelines/studies/mine.yaml"
    study = yaml.safe_load(path.read_text())
    study |= {"search": {"sampler": "fixed"}, "seeds": [0], "losses": ["triplet"], "positives": ["easy"]}
    study["negatives"] = ["semihard_random"]
    study["training"]["steps"] = 5
    path.write_text(yaml.safe_dump(study))
    ran = dml("run", "mine")
    assert "2 cells, 2 trials" in ran
    assert f"file://{project.root}/report/index.html" in ran
    assert "2 of them done already; nothing to train" in dml("check", "mine")

    vectors = project.root / "vectors.parquet"
    dml("embed", "mine", photos, "-o", vectors)
    assert len(pd.read_parquet(vectors)) == 48
    dml("search", "mine", photos, photos / "kind7/0.png", "-k", 3)
    assert (project.root / "search.html").read_text().count("<figure>") == 4

    table = pd.read_parquet(project.root / "results/mine/trials.parquet").query("phase == 'confirm'")
    by_key = project.root / "by_key.npy"
    dml("embed", table.sort_values("objective")["key"].iloc[-1][:12], photos, "-o", by_key)
    np.testing.assert_array_equal(np.load(by_key), np.stack(pd.read_parquet(vectors)["vector"]))
    logged = project.run(sys.executable, "-c", LOGGED).text.split()[-1]
    dml("embed", logged, photos, "-o", project.root / "logged.npy")
    assert np.load(project.root / "logged.npy").shape == np.load(by_key).shape


LOGGED = """
import mlflow
client = mlflow.MlflowClient("sqlite:///mlflow.db")
(model,) = client.search_logged_models([client.get_experiment_by_name("dml").experiment_id])
print(model.model_uri)
"""
