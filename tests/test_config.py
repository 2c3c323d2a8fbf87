"""A study's YAML: what it gives, and the one clear message for each way of getting it wrong."""

from pathlib import Path

import pytest

from dml.config import ConfigError, Study, load_study
from dml.types import Choice, LogUniform, Uniform

STUDIES = Path(__file__).parents[1] / "pipelines" / "studies"
GOOD = """\
title: A study
datasets: [digits]
losses: [triplet, proxy_nca]
positives: [random, easy]
negatives: [random, hard]
noise:
  - {model: uniform, rates: [0.0, 0.3]}
seeds: [0, 1]
"""


def load(tmp_path: Path, text: str) -> Study:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_study(path)


def test_each_admissible_combination_is_one_cell(tmp_path):
    cells = load(tmp_path, GOOD).cells()
    triplet = [c for c in cells if c.loss.name == "triplet"]
    proxy = [c for c in cells if c.loss.name == "proxy_nca"]
    assert len(triplet) == 2 * 2 * 2
    assert len(proxy) == 2, "a loss that ignores tuples is one cell a rate, whatever the policies"
    assert all(c.positives is None for c in proxy)
    assert len({c.name for c in cells}) == len(cells) == 10


def test_a_loss_brings_its_own_search_space_unless_the_study_gives_one(tmp_path):
    text = GOOD.replace(
        "[triplet, proxy_nca]",
        "[{name: triplet, search: {margin: {log_uniform: [0.01, 1]}}}, {name: margin, settings: {beta: 1.0}}]",
    )
    triplet, margin = (loss.part() for loss in load(tmp_path, text).losses)
    assert triplet.search == {"margin": LogUniform(0.01, 1.0)}
    assert "beta" not in margin.search
    assert margin.search, "what the study does not fix is searched as the loss says"


def test_the_terms_of_a_search_space(tmp_path):
    text = GOOD + "training: {search: {learning_rate: {log_uniform: [1.0e-5, 1.0e-2]}, steps: {choice: [100, 200]}}}\n"
    assert load(tmp_path, text).training.search == {
        "learning_rate": LogUniform(1e-5, 1e-2),
        "steps": Choice((100, 200)),
    }
    assert Uniform(0, 1) != LogUniform(0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("title: A study", "titel: A study"),
            r"mine.yaml:1: titel: unknown key; did you mean 'title'\? Choices: title",
        ),
        (("title: A study\n", ""), r"mine.yaml:1: title: this key is missing"),
        (("[digits]", "[digitz]"), r"mine.yaml:2: datasets\[0\].*unknown name 'digitz'; did you mean 'digits'"),
        (("[digits]", "[{source: digits, rezise: 3}]"), r"datasets\[0\].rezise: unknown key; did you mean 'resize'"),
        (("[digits]", "[{source: digits, resize: big}]"), r"datasets\[0\].resize: .*valid integer.*got 'big'"),
        (("[digits]", "[{source: digits, options: {x: 1}}]"), r"source 'digits': unknown setting 'x'"),
        (("[digits]", "[digits, digits]"), r"two are called the same"),
        (("[triplet,", "[tripplet,"), r"mine.yaml:3: losses\[0\].*unknown name 'tripplet'; did you mean 'triplet'"),
        (("[triplet,", "[{name: triplet, settings: {margn: 1}},"), r"unknown setting 'margn'; did you mean 'margin'"),
        (("[triplet,", "[{name: triplet, settings: {reduction: avg}},"), r"loss 'triplet':.*reduction"),
        (("[triplet,", "[{name: triplet, search: {margin: {uniform: [1, 0]}}},"), r"low < high"),
        (("[triplet,", "[{name: triplet, search: {margin: {normal: [0, 1]}}},"), r"uniform, log_uniform, choice"),
        (("[triplet,", "[no.such.Loss,"), r"dotted path 'no.such.Loss' cannot be imported"),
        (("[random, easy]", "[random, eazy]"), r"positives: unknown name 'eazy'; did you mean 'easy'"),
        (("[random, easy]", "[random, random]"), r"positives: .* names one twice"),
        (("[random, hard]", "[]"), r"positives and negatives go together"),
        (("model: uniform", "model: unifrom"), r"mine.yaml:7: noise\[0\].*unknown name 'unifrom'"),
        (("[0.0, 0.3]", "[0.0, 1.3]"), r"rates\[1\]: .*less than 1.*got 1.3"),
        (("[0, 1]", "[0, 0]"), r"seeds: .* names one twice"),
        (("[triplet, proxy_nca]", "[proxy_nca]"), r"no loss of this study uses tuples \(proxy_nca\)"),
        (
            ("proxy_nca]", "{name: proxy_nca, positives: [easy], negatives: [hard]}]"),
            r"loss 'proxy_nca' ignores tuples, so it cannot be paired",
        ),
        (
            ("proxy_nca]", "{name: triplet, settings: {synthesis: loop}, positives: [easy], negatives: [hard]}]"),
            r"loss 'triplet' ignores tuples, so it cannot be paired",
        ),
        (("seeds:", "training: {batch: {per_class: 1}}\nseeds:"), r"with one sample a class there is no positive"),
        (("seeds:", "training: {backbone: resnet}\nseeds:"), r"training.*unknown name 'resnet'"),
        (("seeds:", "training: {search: {margin: {uniform: [0, 1]}}}\nseeds:"), r"'margin' cannot be searched"),
        (("seeds:", "evaluation: {metrics: [recal@1]}\nseeds:"), r"unknown metric 'recal@1'.*recall@K"),
        (("seeds:", "search: {objective: nmi@2}\nseeds:"), r"unknown metric 'nmi@2'"),
        (("seeds:", "search: {objective: f1}\nseeds:"), r"objective is 'f1', which evaluation.metrics leaves out"),
        (("seeds:", "search: {pruner: median}\nseeds:"), r"pruner is 'median', but .* a number of steps in evaluation"),
        (("seeds:", "miner: {settings: {margn: 1}}\nseeds:"), r"miner: unknown setting 'margn'; did you mean 'margin'"),
        (("seeds:", "miner: {search: {margn: {choice: [1]}}}\nseeds:"), r"unknown setting 'margn'"),
        (("seeds:", "training: {augment: crop22}\nseeds:"), r"unknown name 'crop22'; did you mean 'crop227'"),
        (("seeds:", "training: {augment_settings: {size: 3}}\nseeds:"), r"augment 'none': unknown setting 'size'"),
        (("seeds:", "training: {batch: {sampler: even}}\nseeds:"), r"unknown name 'even'. Choices: balanced"),
        (("seeds:", "training: {search: {steps: {uniform: [1, 9]}}}\nseeds:"), r"steps is a whole number"),
        (("seeds:", "training: {search: {learning_rate: {uniform: [-1, 1]}}}\nseeds:"), r"greater than 0, got -1"),
        (("seeds:", "training: {devices: 7}\nseeds:"), r"64 images cannot be shared equally by 7 devices"),
        (("seeds:", "training: {devices: 2}\nresources: {gpus_per_trial: 1}\nseeds:"), r"gpus_per_trial 2 .*got 1"),
        (("seeds:", "evaluation: {metrics: []}\nseeds:"), r"evaluation.metrics: .*at least 1 item"),
        (("[0.0, 0.3]", "[0.3, 0.3]"), r"noise: 'uniform' stands twice with the rate 0.3"),
        (("[digits]", "[{source: digits, name: a/b}]"), r"'a/b' names files"),
        (
            ("[triplet,", "[{name: triplet, settings: {margin: 1}, search: {margin: {uniform: [0, 1]}}},"),
            r"loss 'triplet': margin is fixed in settings and searched",
        ),
        (("[triplet,", "[{name: triplet, search: {margin: {uniform: [-1, 1]}}},"), r"margin: expected .* >= 0; got -1"),
        (("[triplet,", "[triplet, {name: triplet, search: {}},"), r"two of them would both be the cell 'digits"),
        (
            ("datasets: [digits]", "datasets: [digits, cub200]\ntraining: {batch: {sampler: hierarchical}}"),
            r"sampler is 'hierarchical', .* source 'cub200' has only fine. Choices: balanced, random",
        ),
        (("seeds:", "search: {level: coarse}\nseeds:"), r"search.level is 'coarse'.*leaves out"),
        (
            ("seeds:", "search: {sampler: cma}\nseeds:"),
            r"search.sampler: .*'tpe', 'random', 'grid' or 'fixed'.*got 'cma'",
        ),
        (("title: A study", "title: [A"), r"not YAML"),
    ],
)
def test_what_is_wrong_is_said_with_file_line_key_value_and_choices(tmp_path, change, message):
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, GOOD.replace(*change))


def test_all_problems_are_said_at_once(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, GOOD.replace("[digits]", "[digitz]").replace("[random, hard]\n", "[random, hard]\nseed: 3\n"))
    assert len(str(caught.value).splitlines()) == 2


def test_hierarchical_batches_are_for_data_with_coarse_labels(tmp_path):
    text = GOOD.replace("seeds:", "training: {batch: {sampler: hierarchical}}\nseeds:")
    assert load(tmp_path, text).training.batch.sampler == "hierarchical"


def test_an_absent_study_lists_those_there_are(tmp_path):
    (tmp_path / "quickstart.yaml").write_text(GOOD)
    with pytest.raises(ConfigError, match=r"no such study; did you mean 'quickstart'"):
        load_study(tmp_path / "quikstart.yaml")


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_projects_own_studies_are_sound(path):
    study = load_study(path)
    assert study.name == path.stem
    assert len(study.cells()) >= 1
