"""The wheel, installed into an empty folder: a project outside a clone, and the library without its extras."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(1200)]
ROOT = Path(__file__).parents[1]
TINY = """\
title: A study of seconds
datasets:
  - {name: digits, train_on: coarse}
losses: [triplet, own_part.Flat]
positives: [easy]
negatives: [random]
seeds: [0]
search: {sampler: fixed}
training: {backbone: mlp, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
"""
PHOTOS = """\
title: A newcomer's photographs, in seconds
datasets:
  - {name: imagefolder, id: photos, settings: {root: PHOTOS}, resize: 12}
losses: [whitening, triplet]
positives: [easy]
negatives: [random]
seeds: [0]
search: {sampler: fixed}
training:
  {backbone: {name: small_conv, settings: {width: 4}}, embedding_size: 4, steps: 3, batch: {classes: 2, per_class: 4}}
"""
OWN_PART = """\
import torch


class Flat(torch.nn.Module):
    def forward(self, embeddings, labels, indices_tuple=None):
        return embeddings.pow(2).mean()
"""
LIBRARY = """\
import sys

for name in ("dvc", "faiss", "jinja2", "matplotlib", "mlflow", "optuna", "ray", "timm", "typer"):
    sys.modules[name] = None  # as if it were not installed
import torch

import dml

vectors, labels = torch.randn(32, 16, requires_grad=True), torch.arange(8).repeat_interleave(4)
mine = dml.miners.build(positives="easy", negatives="semihard_random", margin=0.2)
dml.losses.build("triplet").forward(vectors, labels, mine(vectors, labels)).backward()
print(dml.__file__, *dml.evaluation.evaluate(vectors.detach(), labels, metrics=["recall@1", "nmi"]))
noisy = dml.noise.build("uniform", rate=0.25).corrupt(labels.numpy(), seed=0)
print(len(dml.audit.audit(vectors.detach().numpy(), noisy.observed).score))
from dml.__main__ import main

main()
"""
LOGGED = """\
import mlflow

client = mlflow.MlflowClient("sqlite:///mlflow.db")
(model,) = client.search_logged_models([client.get_experiment_by_name("dml").experiment_id])
print(model.model_uri)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the installed wheel, and a function that runs Python with it, outside the clone."""
    if int(importlib.metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("needs setuptools 77 or newer to build a wheel without a network")
    folder = tmp_path_factory.mktemp("wheel")
    source, site = folder / "source", folder / "site"
    for name in ("dml", "papers"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    clean = {key: value for key, value in os.environ.items() if key not in ("DML_MIRROR", "MLFLOW_TRACKING_URI")}
    clean |= {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}

    def python(*arguments, cwd=folder, code=0):
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=cwd,
            env=clean,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    pip = ("-m", "pip", "--disable-pip-version-check", "-q")
    python(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "dist", source)
    (wheel,) = (folder / "dist").glob("noisy_dml-*.whl")
    python(*pip, "install", "--no-deps", "--target", site, wheel)
    return site, wheel, python


def test_the_wheel_has_each_file_of_the_package_and_no_papers(installed):
    _, wheel, _ = installed
    packed = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(["git", "ls-files", "dml"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert len(tracked) > 300 or not (ROOT / ".git").exists()
    assert not [name for name in tracked if (ROOT / name).is_file() and name not in packed]
    assert {name.partition("/")[0].partition("-")[0] for name in packed} == {"dml", "noisy_dml"}  # and not `papers`


def test_without_extras_the_library_works_and_the_command_says_what_to_install(installed, tmp_path):
    site, _, python = installed
    (tmp_path / "library.py").write_text(LIBRARY)
    said = python("library.py", cwd=tmp_path, code=1).splitlines()
    assert said[0].split() == [str(site / "dml/__init__.py"), "recall@1", "nmi"]
    assert said[1] == "32"
    assert said[2].startswith("error: the command line needs the package typer, which is not installed here.")


def test_a_project_outside_a_clone_from_init_to_the_report(installed, tmp_path):
    site, _, python = installed
    project = tmp_path / "project"
    assert python("-c", "import dml; print(dml.__file__)", cwd=tmp_path).strip() == str(site / "dml/__init__.py")
    assert "dml run quickstart" in python("-m", "dml", "init", "project", cwd=tmp_path)
    assert "quickstart: 9 cells" in python("-m", "dml", "check", "quickstart", cwd=project)
    (project / "pipelines/studies/tiny.yaml").write_text(TINY)
    (project / "own_part.py").write_text(OWN_PART)  # the studies' own part, in the project's folder

    below = project / "pipelines/studies"
    ran = python("-m", "dml", "run", "tiny", cwd=below)
    assert "tiny: 2 cells, 2 trials" in ran
    assert (project / "report/studies/tiny.html").is_file()
    assert not {"claims.html", "theory.html"} & {path.name for path in (project / "report").iterdir()}  # no papers
    assert "2 of them done already" in python("-m", "dml", "check", "tiny", cwd=below)
    assert "tiny: 2/2 cells, 2/2 trials, finished" in python("-m", "dml", "status", cwd=below)
    assert "report: 1 study page" in python("-m", "dml", "report", cwd=below)
    assert "nothing runs again" in python("-m", "dml", "why", "tiny", cwd=below)
    again = python("-m", "dvc", "repro", cwd=project)
    assert again.count("Running stage") == again.count("Running stage 'versions'") == 1


def test_from_a_folder_of_photographs_to_a_model_a_search_page_and_an_audit(installed, tmp_path):
    """What docs/start.md tells a newcomer to do, with the study's numbers cut to seconds."""
    _, _, python = installed
    colours = np.random.default_rng(0)
    for number in range(8):
        folder = tmp_path / f"photos/{number}"
        folder.mkdir(parents=True)
        for image in range(8):
            pixels = colours.normal(30 * number, 20, (20, 24, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{image}.png")
    project = tmp_path / "project"
    python("-m", "dml", "init", "project", cwd=tmp_path)

    def dml(*arguments):
        return python("-m", "dml", *arguments, cwd=project)

    assert "64 images of 8 classes" in dml("new", "photos", "../photos")
    study = project / "pipelines/studies/photos.yaml"
    assert f'root: "{tmp_path / "photos"}"' in study.read_text()
    study.write_text(PHOTOS.replace("PHOTOS", str(tmp_path / "photos")))
    ran = dml("run", "photos")
    assert "photos: 2 cells, 2 trials" in ran
    assert f"file://{project}/report/index.html" in ran
    assert "2 of them done already; nothing to train" in dml("check", "photos")
    assert "whitening" in dml("recommend", "photos")

    dml("embed", "photos", "../photos", "-o", "vectors.parquet")
    vectors = np.stack(pd.read_parquet(project / "vectors.parquet")["vector"])
    best = pd.read_parquet(project / "results/photos/trials.parquet").sort_values("objective")["key"].iloc[-1]
    dml("embed", f"store/trials/{best}/model", "../photos", "-o", "by_folder.npy")
    np.testing.assert_array_equal(np.load(project / "by_folder.npy"), vectors)
    dml("embed", python("-c", LOGGED, cwd=project).split()[-1], "../photos", "-o", "logged.npy")
    assert np.load(project / "logged.npy").shape == vectors.shape == (64, 4)

    dml("refit", "photos")
    dml("search", "models:/photos@champion", "../photos", "../photos/3/0.png", "-o", "page.html")
    assert (project / "page.html").read_text().count("<img") > 5
    assert "suspect" in dml("audit", "photos")
    assert (project / "audit/photos/index.html").is_file()
    assert "report: 1 study page" in dml("report")
