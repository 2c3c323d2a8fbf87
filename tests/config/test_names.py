"""The names of settings in a file, in cells and in digests."""

STUDY = """\
title: Every setting that has another name in digests
datasets:
  - {name: digits, id: pairs, settings: {seen_share: 0.3}}
  - name: numbers
    settings: {size: 14}
noise:
  - {name: uniform, rates: [0.0, 0.2]}
  - {name: small_cluster, id: mine, rates: [0.2], settings: {size: 2}}
losses: [triplet, margin]
positives: [easy]
negatives: [random]
search: {sampler: fixed}
training:
  backbone: {name: small_conv, settings: {grid: 2}}
  augment: {name: random_resized_crop, settings: {image_size: 8}}
  init_from: {study: other, cell: {loss: triplet, training.backbone.width: 8}}
grid:
  training.backbone.width: [8, 16]
  training.augment.settings: [{image_size: 6}, {image_size: 7}]
  both: [{training.init_from: null, loss.margin: 0.1}, {training.init_from: {path: a.pt}, loss.margin: 0.2}]
reference_values:
  - {paper: eps, table: "1", labels: a, method: b, dataset: c, match: {training.backbone.width: 8}}
compare:
  - text: Wider is better.
    first: {training.backbone.width: 16, rate: 0.2, noise: uniform}
    second: {training.backbone.width: 8, rate: 0.2, noise: uniform}
    where: {training.augment.settings: {image_size: 6}}
"""


def test_the_digest_has_the_first_names(study):
    assert study().digest == "7156bc2b12ad81bd"


def test_names_of_cells_are_those_of_earlier_results(study):
    cell = study().cells()[0]
    assert list(cell.grid_point) == [
        "training.backbone_settings.width",
        "training.augment_settings",
        "training.start",
        "loss.margin",
    ]
    assert cell.dataset == "pairs"
