"""The fixture `study`: a study file that begins as the test module's `STUDY` says, or with one dataset and one loss."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dml.config import Study, load_study

STUDY = "title: A study\ndatasets: [{datasets}]\nlosses: [triplet]\n"


@pytest.fixture
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Study]:
    """Loads a study: the module's `STUDY`, or `text`, with its `{datasets}` filled in, and some more lines."""

    def load(more: str = "", datasets: str = "digits", name: str = "mine", text: str = "") -> Study:
        path = tmp_path / f"{name}.yaml"
        path.write_text(
            (text or getattr(request.module, "STUDY", STUDY)).lstrip().replace("{datasets}", datasets) + more
        )
        return load_study(path)

    return load
