"""Each study of the repository: it loads, it can train, and docs/studies-of-the-papers.md lists it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dml import noise
from dml.config import Study, load_study
from dml.config.printed import printed
from dml.data import sources, splits
from dml.data.packing import pack
from dml.report import published
from dml.report.labels import metric_label
from dml.sweep import specs
from dml.training import data as trial_data
from dml.training.loop import Training
from dml.types import BatchSpec, Cell, TrialSpec

ROOT = Path(__file__).parents[2]
STUDIES = sorted(path.stem for path in (ROOT / "pipelines" / "studies").glob("*.yaml"))
PAPERS = {claim.paper: claim for claim in printed().values()}
OF_PAPERS = [name for name in STUDIES if name.partition("-")[0] in PAPERS]
EXAMPLES = {"every-figure", "every-part", "foreign-parts", "omniglot-letters", "quickstart"}
LARGE = ("torchvision", "timm", "inception_bn")
WITHOUT_TEST = {
    "eps-figure-3": "viewpoints are not labelled",
    "eps-figure-6": "a figure, no score",
    "histogram-overlap": "the overlap of two histograms is not a metric",
    "loop-homoscedastic": "eigenvalues are not a score",
    "loop-memory": "docs/benchmarks/loop.md",
    "loop-suppl-figure-5": "synthetic points are not kept",
    "loop-suppl-table-2": "the protocol is not an axis of a study",
    "loop-time": "docs/benchmarks/loop.md",
    "noise-positive-precision": "no noise model corrupts pairs",
}
"""Claims that trained networks decide, but no comparison of scores in a study: why not."""


@cache
def study_of(name: str) -> Study:
    return load_study(ROOT / "pipelines" / "studies" / f"{name}.yaml")


@pytest.mark.parametrize("name", STUDIES)
def test_it_loads_and_its_published_rows_are_evaluated(name):
    study = study_of(name)
    assert study.cells()
    metrics = {metric_label(metric) for metric in study.evaluation.metrics}
    for entry in study.published:
        assert set(published.lookup(entry)) <= metrics, entry
        assert entry.dataset in {dataset.source for dataset in study.datasets}
        assert entry.set in study.evaluation.sets


@pytest.mark.parametrize("name", OF_PAPERS)
def test_its_description_says_how_long_it_takes_and_whether_it_is_a_stand_in(name):
    study = study_of(name)
    if study.resources.gpus_per_trial:
        assert "GPU, about" in " ".join(study.description.split())
    else:
        assert re.search(r"[Aa]bout \d+ (minutes|hours) on two cores", " ".join(study.description.split()))
    assert all(claim.printed is None or claim.printed.paper == name.partition("-")[0] for claim in study.claims)


def test_each_claim_that_networks_decide_has_a_study():
    tested = {claim.claim for name in STUDIES for claim in study_of(name).claims if claim.claim}
    asked = {claim.id for claim in printed().values() if claim.decided_by != "theory"}
    assert asked - tested == set(WITHOUT_TEST)


def test_every_study_is_of_a_paper_or_an_example():
    assert set(STUDIES) - set(OF_PAPERS) == EXAMPLES


def test_a_study_comes_after_the_one_that_it_starts_from():
    for name in OF_PAPERS:  # `make repro STUDY=paper-noise` runs them in this order
        starts = [study_of(name).training_of(cell).start for cell in study_of(name).cells()]
        for start in filter(None, starts):
            assert start.study in STUDIES
            assert start.study < name
            earlier = study_of(start.study)
            assert set(study_of(name).seeds) <= set(earlier.seeds)


def row_of(name: str) -> str:
    """A study's row in the page: its name, title, data, and where and how long it runs."""
    study = study_of(name)
    text = " ".join(study.description.split())
    data = ", ".join(dict.fromkeys(dataset.source for dataset in study.datasets))
    time = re.findall(r"[Aa]bout (\d+ (?:minutes|hours)) on two cores|A GPU, about (\d+ hours)", text)[-1]
    where = "a GPU" if study.resources.gpus_per_trial else "here"
    return f"| `{name}` | {study.title} | {data} | {where} | {time[0] or time[1]} |"


def test_the_page_of_all_studies_is_what_they_say():
    page = (ROOT / "docs" / "studies-of-the-papers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `.*", page, flags=re.MULTILINE)
    expected = [row_of(name) for paper in PAPERS for name in OF_PAPERS if name.startswith(f"{paper}-")]
    assert rows == expected, "expected these rows:\n" + "\n".join(expected)
    for claim, reason in WITHOUT_TEST.items():
        assert f"- `{claim}`: {reason}" in page


def different(study: Study) -> Iterator[Cell]:
    """One cell for each loss with each way of choosing tuples, with the last values of what varies."""
    found = {}
    for cell in study.cells():
        synthesis = cell.loss.settings.get("synthesis")
        found[cell.loss.name, synthesis, cell.positives, cell.negatives, cell.noise] = cell
    yield from found.values()


@pytest.fixture(scope="module")
def roots(tmp_path_factory) -> dict[str, Path]:
    """The outputs of the data stages for 240 random images of two levels, by the level that is trained on."""
    base = tmp_path_factory.mktemp("stand-in")
    rng = np.random.default_rng(0)
    rows = []
    for number in range(240):
        fine, image = divmod(number, 10)
        role = "test" if fine >= 12 else "seen" if image >= 8 else "train"
        path = f"{number}.png"
        Image.fromarray(rng.integers(0, 60, (12, 12, 3), np.uint8) + np.uint8(8 * fine)).save(base / path)
        rows.append({"path": path, "fine": f"f{fine:02d}", "coarse": f"c{fine // 3}", "split": role})
    pd.DataFrame(rows).to_csv(base / "table.csv", index=False)
    source = sources.build("imagefolder", root=str(base), table=str(base / "table.csv"), disjoint="coarse")
    manifest = pack(source, base / "raw", base / "packed", report=lambda line: None)
    studies = [study_of(name) for name in STUDIES]
    models = [(n.model, rate, dict(n.settings)) for study in studies for n in study.noise for rate in n.rates]
    unique = list({(model, rate): (model, rate, settings) for model, rate, settings in models}.values())
    found = {}
    for level in ("fine", "coarse"):
        root = base / level
        root.mkdir()
        (root / "pack.json").write_text(json.dumps({"any": {**manifest, "folder": str(base / "packed")}}))
        packed = trial_data.open_packed_of(root, "any")
        splits.save(splits.make(packed.index, source), root / "split" / "any.parquet")
        tables = []
        for phase in ("tune", "confirm"):
            images = trial_data.training_rows(root, "any", phase)
            labels = packed.index[level].to_numpy()[images]
            tables.append(noise.table(images, labels, unique, [0], phase))
        (root / "noise").mkdir()
        pd.concat(tables).to_parquet(root / "noise" / "any.parquet", index=False)
        found[level] = root
    return found


def small(study: Study, cell: Cell) -> TrialSpec:
    """A trial of the cell with two steps, small batches, a small network from scratch, and no augmentation."""
    spec = specs.build(study, cell, "confirm", 0, {}, {"packed": "", "split": "", "labels": ""}, lambda *asked: None)
    training = spec.training
    if training.backbone in LARGE:
        training = replace(training, backbone="small_conv", backbone_settings={"width": 4})
    steps, batch = min(training.steps, 2), BatchSpec(training.batch.sampler, 2, 4)
    training = replace(training, steps=steps, batch=batch, augment="none", device="cpu", channels_last=False)
    evaluation = replace(spec.evaluation, every=1 if spec.evaluation.every else None)
    return replace(spec, dataset=replace(spec.dataset, name="any"), training=training, evaluation=evaluation)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*each is its own cluster")
@pytest.mark.parametrize("name", STUDIES)
def test_its_cells_train_two_steps_on_a_stand_in(name, roots, tmp_path):
    if name in ("every-part", "foreign-parts"):
        pytest.skip("run in full by other tests")
    study = study_of(name)
    for number, cell in enumerate(different(study)):
        spec = small(study, cell)
        trainer = Training(spec, roots[spec.dataset.train_on], tmp_path / str(number), "cpu")
        try:
            while not trainer.finished:
                trainer.advance()
            scores = trainer.result().scores
        finally:
            trainer.close()
        sets, levels = spec.evaluation.sets, spec.dataset.evaluate_on
        expected = {f"{s}/{level}/{metric}" for s in sets for level in levels for metric in spec.evaluation.metrics}
        assert expected <= set(scores), cell.name
        assert all(np.isfinite(scores[key]) for key in expected), cell.name
