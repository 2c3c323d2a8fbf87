"""Mirror images: only of datasets that allow them, with file and line."""

import pytest

from dml.config import ConfigError, load_study

TEXT = """\
title: A study
datasets: [{datasets}]
losses: [softmax]
search: {{sampler: fixed}}
evaluation:
  metrics: [recall@1]
  views: mirror
"""
FOLDER = "{name: imagefolder, settings: {root: x}%s}"


def load(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_study(path)


@pytest.mark.parametrize("dataset", ["numbers", "digits", "mnist", "omniglot", FOLDER % ", mirror: false"])
@pytest.mark.parametrize("other", ["", "cars196, "])
def test_digits_letters_and_text_are_not_mirrored(tmp_path, dataset, other):
    with pytest.raises(
        ConfigError, match=r"mine\.yaml:7: evaluation\.views: .*expected views: one.*, got mirror"
    ) as error:
        load(tmp_path, TEXT.format(datasets=other + dataset))
    assert ("cars196" in str(error.value)) == bool(other)
    assert load(tmp_path, TEXT.format(datasets=other + dataset).replace("mirror\n", "one\n"))


@pytest.mark.parametrize("augment", ["random_resized_crop", "crop224", "crop227"])
def test_training_does_not_mirror_them_either(tmp_path, augment):
    text = TEXT.format(datasets=FOLDER % ", mirror: false").replace("views: mirror", "views: one")
    with pytest.raises(ConfigError, match=r"mine\.yaml:8: training\.augment: .*mirror: false"):
        load(tmp_path, f"{text}training: {{augment: {augment}}}\n")
    settings = "{name: random_resized_crop, settings: {mirror: false}}"
    assert load(tmp_path, f"{text}training: {{augment: {settings}}}\n")
