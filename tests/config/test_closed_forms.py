"""Methods in closed form in a study: which cells they have, and which settings decide their trials."""

import pytest

from dml.config import Study
from dml.config import study as closed_forms
from dml.sweep.plan import specs
from dml.training.frozen.recipe import of_whole_backbone
from dml.types import InitFromSpec, TrainingSpec

DIGESTS = {"packed": "p", "split": "s", "labels": "l"}
CONTENT = {
    "title": "Mine",
    "datasets": ["digits"],
    "losses": ["triplet", "whitening"],
    "positives": ["random"],
    "negatives": ["random", "all"],
    "filters": ["none", "prism"],
    "search": {"trials": 4, "stop": "best"},
    "training": {"search": {"learning_rate": {"log_uniform": [1e-4, 1e-2]}}, "embedding_size": 8},
}


def study(**changes):
    return Study(**{**CONTENT, **changes}, name="mine")


def closed(of):
    return [cell for cell in of.cells() if cell.loss.name == "whitening"]


def spec(of, cell):
    return specs.build(of, cell, "confirm", 0, {}, DIGESTS, lambda *asked: InitFromSpec("digest", "file"))


def test_one_cell_without_tuples_and_filter():
    assert [(c.positives, c.negatives, c.filter) for c in closed(study())] == [(None, None, None)]
    assert len(study().cells()) == 1 * 2 * 2 + 1


def test_what_varies_without_effect_makes_no_cells():
    grid = {"training.learning_rate": [1e-3, 1e-2], "training.embedding_size": [8, 16], "loss.margin": [0.1, 0.2]}
    mine = study(grid=grid, training={})
    assert [dict(cell.grid_point) for cell in closed(mine)] == [
        {"training.embedding_size": 8},
        {"training.embedding_size": 16},
    ]


def test_a_trial_only_fits_its_head():
    mine = study(training={"learning_rate": 0.5, "schedule": "cosine", "embedding_size": 8})
    found = spec(mine, closed(mine)[0])
    training = TrainingSpec(
        backbone="pixels", embedding_size=8, steps=0, head_start="whitening", batch=found.training.batch
    )
    assert found.training == training
    assert found.filter is found.miner is None


@pytest.mark.parametrize(
    ("training", "backbone"),
    [
        ({"backbone": "mlp", "backbone_settings": {}}, "pixels"),
        ({"backbone": "torchvision", "backbone_settings": {"name": "resnet18", "pretrained": False}}, "pixels"),
        ({"backbone": "torchvision", "backbone_settings": {"name": "resnet18"}}, "torchvision"),
        ({"backbone": "mlp", "frozen": True}, "mlp"),
        ({"backbone": "mlp", "init_from": {"path": "model.safetensors"}}, "mlp"),
    ],
)
def test_the_backbone_stays_if_its_weights_are_not_random(training, backbone):
    mine = study(training=training)
    found = spec(mine, closed(mine)[0]).training
    assert found.backbone == backbone
    assert found.backbone_settings == ({} if backbone == "pixels" else training.get("backbone_settings", {}))
    assert found.init_from is None or found.init_from.head == "new"


def test_beside_trials_on_activations_it_is_fitted_to_the_stored_features_of_the_whole_backbone():
    given = TrainingSpec(backbone="torchvision", train_from="layer4", views=4, frozen_precision="float16")
    found = closed_forms.training_of("whitening", given, images=True)
    assert found == of_whole_backbone(
        TrainingSpec(backbone="torchvision", train_from="layer4", views=4, steps=0, head_start="whitening")
    )
    assert (found.frozen, found.train_from, found.views) == (True, None, 1)


def test_a_trained_loss_keeps_its_training():
    given = TrainingSpec(learning_rate=0.5)
    assert closed_forms.training_of("triplet", given, images=True) is given
    assert closed_forms.takes("triplet", "training.steps")
    assert not closed_forms.takes("lda", "training.steps")
    assert closed_forms.takes("lda", "training.backbone_settings.name")
