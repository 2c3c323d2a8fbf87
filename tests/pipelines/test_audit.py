"""The audit of a folder of images with five wrong labels, through the stages, in this process."""

import importlib
import json
import shutil
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml import audit
from dml.audit import study as reviews
from dml.cli.audit import ask
from dml.cli.audit_text import lines
from dml.config import load_study
from dml.training import data as trial_data

pytestmark = pytest.mark.slow

KINDS = ("ant", "bee", "cat", "dog", "elk")
STUDY = """\
title: Pets
datasets:
  - {name: imagefolder, id: pets, settings: {root: photos, test_share: 0.4}}
losses: [triplet]
seeds: [0]
search: {sampler: fixed}
training: {backbone: mlp, embedding_size: 4, steps: 2, batch: {classes: 2, per_class: 4}}
"""
MOVED = {"ant/03.png": "bee", "bee/07.png": "elk", "cat/00.png": "ant", "dog/11.png": "cat", "elk/19.png": "dog"}


def photograph(root: Path) -> None:
    """A pattern for each kind, 12 x 10 pixels, at changing brightness and with noise."""
    generator = np.random.default_rng(0)
    for kind in KINDS:
        pattern = generator.normal(size=(10, 12, 3))
        (root / kind).mkdir(parents=True, exist_ok=True)
        for number in range(20):
            pixels = 128 + 35 * pattern + 10 * generator.normal(size=pattern.shape) + generator.normal(0, 15)
            image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            image.save(root / kind / f"{number:02d}.png")


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder with photographs and a study of them, and a function that runs the stages up to the audit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")

    def run(text=STUDY + "audit: {review_size: 60}\n", names="download pack features audit"):
        Path("pets.yaml").write_text(text)
        study = load_study("pets.yaml")
        for name in names.split():
            importlib.import_module(f"dml.pipeline.{name}").run(study)
        return study

    return run


def wrong_files() -> dict[str, str]:
    """Where the misplaced files are now, and what they really are."""
    return {f"{kind}/{path.replace('/', '-')}": path.split("/")[0] for path, kind in MOVED.items()}


def answer(plan: audit.ReviewPlan, paths: list[str]) -> pd.DataFrame:
    """What a person says who looks at the images of a plan."""
    truth, rows = wrong_files(), []
    for row, given in zip(plan.rows.tolist(), plan.given.tolist(), strict=True):
        really = truth.get(paths[row])
        answered = {"answer": "wrong" if really else "right", "label": really or ""}
        rows.append({"index": row, "given": given, "path": paths[row], **answered})
    return pd.DataFrame(rows)


def test_the_whole_way_from_five_wrong_labels_to_a_study_without_them(work):
    photograph(Path("photos"))
    for path, kind in MOVED.items():
        shutil.move(Path("photos") / path, Path("photos") / kind / path.replace("/", "-"))
    work()
    done, asking = Path("audit/pets"), Path("pipelines/audits/pets")
    table, truth = pd.read_csv(done / "audit.csv"), wrong_files()
    paths = table.sort_values("index")["path"].tolist()
    assert set(table["path"].head(5)) == set(truth)
    assert dict(table[["path", "suggested"]].head(5).values.tolist()) == truth
    content = json.loads((done / "summary.json").read_text())
    assert (content["images"], content["classes"]) == (100, 5)
    assert content["review"] is None
    assert content["measured"] is None
    assert 0.02 <= content["rate"]["guess"] <= 0.1
    assert (done / "index.html").stat().st_size > 10_000
    assert content["representation"] == "pixels"
    assert json.loads(Path("data/pets/audit.json").read_text()) == content

    plan = audit.ReviewPlan.load(done)
    assert len(plan.rows) == 60
    answer(plan, paths).to_csv("review.csv", index=False)
    reviews.take_in(asking, Path("review.csv"), done)
    ask(asking, None)
    study = work(names="audit")
    content = json.loads((done / "summary.json").read_text())
    assert content["review"]["low"] <= 0.05 <= content["review"]["high"]
    assert content["review"]["looks"] == 60
    assert any("(60 looks; the first guess was" in line for line in lines(content))
    assert audit.ReviewPlan.load(done).rows.tolist() == plan.rows.tolist()

    runs = mlflow.MlflowClient().search_runs(["1"], "tags.`dml.kind` = 'audit'")
    assert len(runs) == 1
    assert runs[0].data.metrics["review.rate"] == pytest.approx(content["review"]["rate"])
    assert runs[0].data.params["representation"] == "pixels"
    logged = {artifact.path for artifact in mlflow.MlflowClient().list_artifacts(runs[0].info.run_id)}
    assert {"index.html", "audit.csv", "summary.json"} <= logged
    check_the_study_after_the_audit(study, done, paths, work)


def check_the_study_after_the_audit(study, done, paths, work):
    from dml.cli.audit_text import comparing

    labels = sorted((done / "labels").glob("*.csv"))
    assert [path.stem for path in labels] == ["given", "left-out", "reviewed", "suggested"]
    Path("after.yaml").write_text(comparing(study, "pets", labels))
    after = load_study("after.yaml")
    noises = [cell.noise for cell in after.cells()]
    assert noises == ["uniform", "label_file:left-out", "label_file:reviewed", "label_file:suggested"]
    for name in ("download", "pack", "split", "corrupt"):
        importlib.import_module(f"dml.pipeline.{name}").run(after)
    table = pd.read_parquet("data/after/noise/pets.parquet").query("phase == 'confirm'")
    observed = {name: part.set_index("index")["observed"] for name, part in table.groupby("noise")}
    names = {kind: number for number, kind in enumerate(KINDS)}
    wrong = {paths.index(path): names[really] for path, really in wrong_files().items()}
    trains = observed["uniform"].index
    for row in trains.intersection(wrong):
        really = wrong[row] if wrong[row] in observed["uniform"].to_numpy() else -1
        assert observed["label_file:left-out"][row] == -1
        assert observed["label_file:suggested"][row] == really
        assert observed["label_file:reviewed"][row] in (-1, really)
    others = trains.difference(wrong)
    assert (observed["label_file:reviewed"][others] == observed["uniform"][others]).mean() > 0.95
    digests = [trial_data.describe(Path("data/after"), "pets", name, 0.0, 0, "confirm")["labels"] for name in noises]
    assert len(set(digests)) >= 3
