"""Weights from a hub: read where they are, fetched once where they are not, and named where they cannot be had."""

from types import SimpleNamespace

import pytest

timm = pytest.importorskip("timm")

from huggingface_hub import constants  # noqa: E402
from huggingface_hub.errors import LocalEntryNotFoundError  # noqa: E402

from dml import models  # noqa: E402

NAME = "test_resnet"


@pytest.fixture
def asked(monkeypatch):
    """Whether the hub was offline at each attempt; `has` says if the weights are here, `answers` if the hub does."""
    state = SimpleNamespace(offline=[], has=False, answers=True)
    create = timm.create_model

    def made(name, pretrained=False, **settings):
        if pretrained:
            state.offline.append(constants.HF_HUB_OFFLINE)
            if not state.has and (constants.HF_HUB_OFFLINE or not state.answers):
                raise LocalEntryNotFoundError("not cached")
            state.has = True
        return create(name, pretrained=False, **settings)

    monkeypatch.setattr(timm, "create_model", made)
    return state


def test_weights_that_are_here_are_read_without_asking_the_hub(asked):
    for _ in range(3):
        models.find("timm")(name=NAME)
    assert asked.offline == [True, False, True, True]
    assert not constants.HF_HUB_OFFLINE


def test_weights_that_cannot_be_had_are_named(asked):
    asked.answers = False
    with pytest.raises(ValueError, match=f"{NAME}: its weights are not on this machine.*not cached.*weights"):
        models.find("timm")(name=NAME)
    assert not constants.HF_HUB_OFFLINE
