"""The reference of settings is made from the models."""

from pathlib import Path

from dml.config.schema import PAGE, reference


def test_the_reference_is_that_of_the_models():
    assert Path(PAGE).read_text(encoding="utf-8") == reference(), "make stubs writes docs/settings.md"
