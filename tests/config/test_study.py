"""A study's YAML: the cells that it gives, and for each mistake an error with file, line, key, value and choices."""

from pathlib import Path

import pytest

from dml.config import ConfigError, Study, load_study
from dml.types import Choice, LogUniform, TrainingSpec, Uniform

STUDIES = Path(__file__).parents[2] / "pipelines" / "studies"
GOOD = """\
title: A study
datasets: [digits]
losses: [triplet, proxy_nca]
positives: [random, easy]
negatives: [random, hard]
noise:
  - {name: uniform, rates: [0.0, 0.3]}
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
    assert len(proxy) == 2, "a loss that ignores tuples is one cell per rate, whatever the policies"
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
    assert margin.search, "settings that the study does not fix are searched in the loss's own space"


def test_the_terms_of_a_search_space(tmp_path):
    text = GOOD + "training: {search: {learning_rate: {log_uniform: [1.0e-5, 1.0e-2]}, steps: {choice: [100, 200]}}}\n"
    assert load(tmp_path, text).training.search == {
        "learning_rate": LogUniform(1e-5, 1e-2),
        "steps": Choice((100, 200)),
    }
    assert Uniform(0, 1) != LogUniform(0, 1)


def test_a_study_without_settings_trains_by_the_records_defaults(tmp_path):
    study = load(tmp_path, GOOD)
    assert study.training.spec() == TrainingSpec()
    assert study.training.spec(steps=3).steps == 3


def test_a_study_may_evaluate_the_untrained_network_and_the_training_images(tmp_path):
    study = load(tmp_path, GOOD + "training: {steps: 0}\nevaluation: {sets: [train, test]}\n")
    assert study.training.spec().steps == 0
    assert study.evaluation.spec("confirm").sets == ("train", "test")
    assert study.evaluation.spec("tune").sets == ("validation",)


def test_a_loss_may_leave_embeddings_unnormalised_while_the_rest_normalises(tmp_path):
    text = GOOD.replace("[triplet,", "[{name: triplet, settings: {normalize: false}},")
    assert load(tmp_path, text).losses[0].settings == {"normalize": False}


def test_multi_similarity_mining_takes_a_negative_epsilon(tmp_path):
    text = GOOD.replace("[random, easy]", "[multi_similarity]").replace("[random, hard]", "[multi_similarity]")
    assert load(tmp_path, text + "miner: {settings: {epsilon: -0.02}}\n").miner.settings == {"epsilon": -0.02}
    searched = load(tmp_path, text + "miner: {search: {epsilon: {uniform: [-0.1, 0.2]}}}\n").miner.search
    assert searched == {"epsilon": Uniform(-0.1, 0.2)}
    with pytest.raises(ConfigError, match=r"mine\.yaml:9: miner\.settings\.epsilon: expected a finite number, got nan"):
        load(tmp_path, text + "miner: {settings: {epsilon: .nan}}\n")


SEEDS = "seeds: [0, 1]"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("title: A study", "titel: A study", ["mine.yaml:1: titel", "'title'?", "Choices: title"]),
        ("title: A study\n", "", ["mine.yaml:1: title", "missing"]),
        ("[digits]", "[digitz]", ["mine.yaml:2: datasets[0]", "'digitz'", "did you mean 'digits'"]),
        ("[digits]", "[{name: digits, rezise: 3}]", ["datasets[0].rezise", "did you mean 'resize'"]),
        ("[digits]", "[{name: digits, resize: big}]", ["datasets[0].resize", "network", "'big'"]),
        ("[digits]", "[{name: digits, on_corrupt: late}]", ["datasets[0].on_corrupt", "'error' or 'skip'", "'late'"]),
        ("[digits]", "[{name: digits, settings: {x: 1}}]", ["source 'digits'", "'x'"]),
        ("[digits]", "[{name: imagefolder}]", ["mine.yaml:2: datasets[0]", "'imagefolder': settings: needs root"]),
        ("[digits]", "[features]", ["mine.yaml:2: datasets[0]", "settings: needs vectors, table"]),
        ("[digits]", "[digits, digits]", ["datasets", "digits, digits", "set `id` of each"]),
        ("[triplet,", "[tripplet,", ["mine.yaml:3: losses[0]", "'tripplet'", "did you mean 'triplet'"]),
        ("[triplet,", "[{name: triplet, settings: {margn: 1}},", ["'margn'", "did you mean 'margin'"]),
        ("[triplet,", "[{name: triplet, settings: {reduction: avg}},", ["loss 'triplet'", "reduction", "'avg'"]),
        ("[triplet,", "[{name: triplet, search: {margin: {uniform: [1, 0]}}},", ["low < high", "[1, 0]"]),
        (
            "[triplet,",
            "[{name: triplet, search: {margin: {normal: [0, 1]}}},",
            ["uniform, log_uniform, choice"],
        ),
        ("[triplet,", "[no.such.Loss,", ["'no.such.Loss'"]),
        ("[triplet,", "[{name: margin, settings: {num_classes: 3}},", ["loss 'margin'", "'num_classes'", "remove it"]),
        ("[triplet,", "[{name: softmax, settings: {embedding_size: 3}},", ["loss 'softmax'", "'embedding_size'"]),
        ("[random, easy]", "[random, eazy]", ["mine.yaml:4: positives", "'eazy'", "did you mean 'easy'"]),
        ("[random, easy]", "[random, random]", ["positives", "['random', 'random']"]),
        ("[random, hard]", "[]", ["positives", "negatives", "both or neither"]),
        ("name: uniform", "name: unifrom", ["mine.yaml:7: noise[0]", "'unifrom'", "did you mean 'uniform'"]),
        ("[0.0, 0.3]", "[0.0, 1.3]", ["rates[1]", "less than 1", "1.3"]),
        (SEEDS, "seeds: [0, 0]", ["seeds", "[0, 0]"]),
        ("[triplet, proxy_nca]", "[proxy_nca]", ["proxy_nca", "positives, negatives and miner"]),
        (
            "proxy_nca]",
            "{name: proxy_nca, positives: [easy], negatives: [hard]}]",
            ["loss 'proxy_nca' ignores tuples", "positives or negatives"],
        ),
        (
            "proxy_nca]",
            "{name: triplet, settings: {synthesis: loop}, positives: [easy], negatives: [hard]}]",
            ["loss 'triplet' ignores tuples"],
        ),
        (
            "proxy_nca]",
            "{name: triplet, settings: {synthesis: loop}}]\ntraining: {normalize: false}",
            ["loss 'triplet'", "loop", "normalize", "training.normalize is false"],
        ),
        (
            SEEDS,
            "training: {batch: {per_class: 1}}",
            ["mine.yaml:8", "training.batch: per_class is 1", "positive", "'triplet'"],
        ),
        (
            SEEDS,
            "training: {batch: {classes: 1}}",
            ["mine.yaml:8", "training.batch: classes is 1", "negative", "'triplet'"],
        ),
        (SEEDS, "grid: {training.batch.classes: [1, 2]}", ["training.batch: classes is 1", "negative", "'triplet'"]),
        (SEEDS, "training: {backbone: resnet}", ["training", "'resnet'", "Choices"]),
        (SEEDS, "training: {search: {margin: {uniform: [0, 1]}}}", ["'margin'", "Choices: learning_rate"]),
        (SEEDS, "evaluation: {metrics: [recal@1]}", ["'recal@1'", "recall@K"]),
        (SEEDS, "search: {objective: nmi@2}", ["'nmi@2'", "Choices"]),
        (SEEDS, "search: {objective: f1}", ["search.objective", "'f1'", "evaluation.metrics", "recall@1, map@r, nmi"]),
        (SEEDS, "miner: {settings: {margn: 1}}", ["miner", "'margn'", "did you mean 'margin'"]),
        (SEEDS, "miner: {search: {margn: {choice: [1]}}}", ["miner", "'margn'"]),
        (
            "random, hard]",
            "semihard_random]\nminer: {settings: {margin: wide}}",
            ["miner", "semihard_random", "margin: expected a number > 0; got 'wide'"],
        ),
        (
            "random, hard]",
            "semihard_random]\nminer: {search: {margin: {choice: [0, 1]}}}",
            ["margin: expected a number > 0; got 0"],
        ),
        ("[triplet,", "[{name: triplet, settings: {margin: wide}},", ["margin: expected a number >= 0", "'wide'"]),
        (SEEDS, "training: {augment: crop22}", ["'crop22'", "did you mean 'crop227'"]),
        (SEEDS, "training: {augment: {settings: {size: 3}}}", ["'none'", "'size'"]),
        (SEEDS, "training: {batch: {sampler: even}}", ["'even'", "Choices: balanced"]),
        (SEEDS, "training: {search: {steps: {uniform: [1, 9]}}}", ["steps", "choice"]),
        (SEEDS, "training: {search: {steps: {choice: [9, -1]}}}", ["steps", "greater than or equal to 0", "-1"]),
        (SEEDS, "training: {steps: -1}", ["training.steps", "at least 0", "-1"]),
        (SEEDS, "training: {search: {learning_rate: {uniform: [-1, 1]}}}", ["learning_rate", "greater than 0", "-1"]),
        (SEEDS, "training: {workers: 7}", ["training.workers", "64", "7"]),
        (SEEDS, "training: {workers: 2}\nresources: {gpus_per_trial: 1}", ["gpus_per_trial 2", "got 1"]),
        (
            SEEDS,
            "training: {workers: 2}\nresources: {resources_per_worker: {GPU: 0.5}}",
            ["resources_per_worker", "one GPU each", "got {GPU: 0.5}"],
        ),
        (SEEDS, "resources: {resources_per_worker: {CPU: 2}}", ["resources_per_worker", "training.workers is 1"]),
        (
            SEEDS,
            "training: {workers: 2}\nresources: {resources_per_worker: {gpu: 1}}",
            ["resources_per_worker", "'GPU'", "'gpu'"],
        ),
        (
            SEEDS,
            "training: {workers: 2}\nresources: {gpus_per_trial: 2, resources_per_worker: {GPU: 1}}",
            ["gpus_per_trial", "remove one"],
        ),
        (SEEDS, "training: {worker: 2}", ["training.worker: unknown key"]),
        (SEEDS, "evaluation: {sets: [training]}", ["evaluation.sets[0]", "'test', 'seen' or 'train'", "'training'"]),
        (SEEDS, "evaluation: {metrics: []}", ["evaluation.metrics", "expected at least 1 value, got []"]),
        ("[0.0, 0.3]", "[0.3, 0.3]", ["noise", "'uniform'", "0.3"]),
        ("[digits]", "[{name: digits, id: a/b}]", ["id: 'a/b'"]),
        *(
            (SEEDS, f"resources: {{register_as: {name}}}", ["mine.yaml:8: resources.register_as", "MLflow"])
            for name in ("a/b", "a:b", '"it\'s"', '"a?b"', ".", "..", "' '", '"a\\nb"', "x" * 257)
        ),
        ("[digits]", "[{name: digits, id: ..}]", ["id: '..'"]),  # the stage `split` would delete the folder above
        ("[digits]", f"[{{name: digits, id: {'x' * 101}}}]", ["at most 100 bytes"]),
        ("[digits]", "[{name: digits, id: A}, {name: digits, id: a}]", ["datasets", "A, a", "set `id` of each"]),
        (
            "[triplet,",
            "[{name: triplet, settings: {margin: 1}, search: {margin: {uniform: [0, 1]}}},",
            ["loss 'triplet'", "margin is fixed in settings and searched"],
        ),
        ("[triplet,", "[{name: triplet, search: {margin: {uniform: [-1, 1]}}},", ["margin", ">= 0", "-1"]),
        ("[triplet,", "[triplet, {name: triplet, search: {}},", ["losses", "'digits|"]),
        (
            "[triplet,",
            "[triplet, triplet,",
            ["mine.yaml:3: losses[1]: 'triplet' is listed twice, with the same settings"],
        ),
        (
            "datasets: [digits]",
            "datasets: [digits, cub200]\ntraining: {batch: {sampler: hierarchical}}",
            ["'hierarchical'", "'cub200'", "only fine", "Choices: balanced, random"],
        ),
        (SEEDS, "search: {level: coarse}", ["search.level", "'coarse'", "evaluate_on"]),
        (SEEDS, "search: {sampler: cma}", ["search.sampler", "'tpe', 'grid' or 'fixed'", "'cma'"]),
        (
            "title: A study",
            "title: [A",
            ["mine.yaml:2: not YAML: ", "expected", "(while parsing a flow", "from line 1)"],
        ),
        (SEEDS, "\tseeds: [0]", ["mine.yaml:8: not YAML: ", "cannot start any token"]),
        (SEEDS, "seeds: *seeds", ["mine.yaml:8: not YAML: ", "undefined alias"]),
        (
            "{name: uniform, rates: [0.0, 0.3]}",
            "{name: given, rates: [0.3]}",
            ["mine.yaml:7: noise[0]", "labels as given", "source 'digits'"],
        ),
        (SEEDS, "seeds: [0, -1]", ["mine.yaml:8: seeds[1]", "at least 0", "-1"]),
        (SEEDS, "seeds: [true]", ["mine.yaml:8: seeds[0]", "whole number", "True"]),
        (SEEDS, f"seeds: [{2**31}]", ["mine.yaml:8: seeds[0]", "at most 2147483647", str(2**31)]),
        (SEEDS, f"search: {{seed: {2**31}}}", ["mine.yaml:8: search.seed", "at most 2147483647"]),
        (SEEDS, "search: {trials: true}", ["mine.yaml:8: search.trials: expected a number, got True"]),
        (SEEDS, "on: 1", ["mine.yaml:8: on: expected text as a key, got bool"]),
        (SEEDS, "training: {batch: {3: 4}}", ["mine.yaml:8: training.batch.3: expected text as a key, got int"]),
        (SEEDS, "seeds: auto", ["mine.yaml:8: seeds: expected a list, got 'auto'"]),
        (SEEDS, "class_splits: many", ["class_splits: expected a whole number or a mapping of settings, got 'many'"]),
        (SEEDS, "class_splits: 200", ["mine.yaml:8: class_splits: expected at most 100, got 200"]),
        (SEEDS, "evaluation: {metrics: [nmi, nmi]}", ["evaluation: metrics: ['nmi', 'nmi']", "twice"]),
        (SEEDS, "evaluation: {sets: [test, test]}", ["evaluation: sets: ['test', 'test']", "twice"]),
        (SEEDS, "filters: prism", ["mine.yaml:8: filters: expected a list, got 'prism'"]),
        (SEEDS, "training: {learning_rate: .inf}", ["mine.yaml:8: training.learning_rate", "finite number", "inf"]),
        (SEEDS, "resources: {cpus_per_trial: .nan}", ["mine.yaml:8: resources.cpus_per_trial", "finite", "nan"]),
        ("[triplet,", "[{name: triplet, settings: {margin: .inf}},", ["mine.yaml:3: losses[0].settings.margin", "inf"]),
        (
            "[triplet,",
            "[{name: triplet, search: {margin: {uniform: [0, .inf]}}},",
            ["mine.yaml:3: losses[0].search.margin.high", "finite number", "inf"],
        ),
        (
            "[triplet,",
            "[{name: triplet, search: {margin: {choice: [0.1, .inf]}}},",
            ["mine.yaml:3: losses[0].search.margin.options[1]", "finite number", "inf"],
        ),
        (SEEDS, "grid: {loss.margin: [0.1, .inf]}", ["mine.yaml:8: grid.loss.margin[1]", "finite number", "inf"]),
        (SEEDS, f"{SEEDS}\ntitle: B", ["mine.yaml:9: title", "given twice", "lines 1 and 9"]),
        (
            SEEDS,
            "training:\n  steps: 1\n  batch: {classes: 3, classes: 3}\n  steps: 2",
            ["mine.yaml:10: training.batch.classes", "mine.yaml:11: training.steps", "lines 9 and 11"],
        ),
    ],
)
def test_a_mistake_is_reported_with_file_line_key_value_and_choices(tmp_path, old, new, expected):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, GOOD.replace(old, new))
    message = str(caught.value)
    assert "mine.yaml" in message
    missing = [fragment for fragment in expected if fragment not in message]
    assert not missing, message


def test_all_problems_are_reported_at_once(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, GOOD.replace("[digits]", "[digitz]").replace("[random, hard]\n", "[random, hard]\nseed: 3\n"))
    assert len(str(caught.value).splitlines()) == 2


def test_a_key_given_twice_in_an_extended_study_is_reported_with_its_file(tmp_path):
    (tmp_path / "base.yaml").write_text(GOOD + "seeds: [3]\n")
    with pytest.raises(ConfigError, match=r"base\.yaml:9: seeds: this key is given twice, in lines 8 and 9"):
        load(tmp_path, "extends: base\n")


def test_another_search_space_than_the_extended_studys_takes_that_back(tmp_path):
    (tmp_path / "base.yaml").write_text(
        GOOD + "training: {search: {learning_rate: {log_uniform: [0.001, 0.01]}}}\n", encoding="utf-8"
    )
    other = "extends: base\ntraining: {search: {learning_rate: {choice: [0.1]TAKEN}}}\n"
    with pytest.raises(ConfigError, match=r"got log_uniform and choice.*\{log_uniform: null, choice: \[\.\.\.\]\}"):
        load(tmp_path, other.replace("TAKEN", ""))
    found = load(tmp_path, other.replace("TAKEN", ", log_uniform: null"))
    assert found.training.search["learning_rate"].options == (0.1,)


def test_null_for_a_search_that_the_extended_study_lacks_says_so(tmp_path):
    (tmp_path / "base.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml:2: training\.search\.weight_decay: .*it has nothing here"):
        load(tmp_path, "extends: base\ntraining: {search: {weight_decay: null}}\n")


def test_hierarchical_batches_are_for_data_with_coarse_labels(tmp_path):
    text = GOOD.replace("seeds:", "training: {batch: {sampler: hierarchical}}\nseeds:")
    assert load(tmp_path, text).training.batch.sampler == "hierarchical"


@pytest.mark.parametrize("loss", ["softmax", "proxy_nca"])
@pytest.mark.parametrize("batch", ["{classes: 1}", "{per_class: 1}"])
def test_a_loss_on_single_samples_takes_any_batch(tmp_path, loss, batch):
    rest = f"datasets: [digits]\ntraining: {{batch: {batch}}}\n"
    assert load(tmp_path, f"title: A\nlosses: [{loss}]\n{rest}").cells()
    for other in ("triplet", "lifted_hinge"):
        with pytest.raises(ConfigError, match=f"which the loss '{other}' needs"):
            load(tmp_path, f"title: A\nlosses: [{loss}, {other}]\n{rest}")


@pytest.mark.parametrize(
    "mined",
    ["positives: [random]\nnegatives: [random]", "miner: {name: pytorch_metric_learning.miners.BatchHardMiner}"],
)
def test_whether_a_loss_of_another_package_compares_samples_is_known_only_if_tuples_are_mined(tmp_path, mined):
    if "pytorch" in mined:
        pytest.importorskip("pytorch_metric_learning")
    text = "title: A\nlosses: [dml.losses.contrastive.Contrastive]\ndatasets: [digits]\n"
    text += "training: {batch: {per_class: 1}}\n"
    assert load(tmp_path, text).cells()
    with pytest.raises(ConfigError, match=r"per_class is 1: such a batch has no positive pair"):
        load(tmp_path, text + mined)


def test_a_source_of_another_package_may_have_labels_as_given(tmp_path):
    text = GOOD.replace("[digits]", "[{name: dml.data.sources.digits.Digits, id: own}]")
    assert load(tmp_path, text.replace("{name: uniform, rates: [0.0, 0.3]}", "{name: given, rates: [0.3]}")).cells()


def test_sources_of_two_packages_have_folders_of_their_own(tmp_path):
    text = GOOD.replace("[digits]", "[digits, {name: dml.data.sources.digits.Digits, id: own}]")
    assert len({dataset.raw.casefold() for dataset in load(tmp_path, text).datasets}) == 2


def test_random_batches_may_be_described_by_one_class_or_one_sample(tmp_path):
    for batch in ("{sampler: random, classes: 1}", "{sampler: random, per_class: 1}"):
        assert load(tmp_path, GOOD.replace("seeds:", f"training: {{batch: {batch}}}\nseeds:")).cells()


def test_an_unknown_study_lists_the_choices(tmp_path):
    (tmp_path / "quickstart.yaml").write_text(GOOD)
    with pytest.raises(ConfigError, match="did you mean 'quickstart'"):
        load_study(tmp_path / "quikstart.yaml")


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_projects_own_studies_are_valid(path):
    study = load_study(path)
    assert study.name == path.stem
    assert len(study.cells()) >= 1
