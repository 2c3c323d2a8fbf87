"""The hub of Hugging Face, asked once whether it answers: `datasets` would retry for half a minute in silence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 5.0  # to wait for an answer


def unreachable() -> str | None:
    """Why the hub does not answer; None if it does, or if the user set `HF_HUB_OFFLINE`."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if constants.HF_HUB_OFFLINE:
        return None
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS)
    except Exception as error:  # of the library's client for HTTP, which differs between its versions
        return f"{constants.ENDPOINT} does not answer: {error or type(error).__name__}"
    return None


@contextmanager
def offline() -> Iterator[None]:
    """Inside the block, `datasets` uses only what it downloaded before."""
    import datasets
    from huggingface_hub import constants

    modules: list[Any] = [datasets.config, constants]
    before = [module.HF_HUB_OFFLINE for module in modules]
    for module in modules:
        module.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for module, value in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = value
