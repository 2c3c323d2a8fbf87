"""Pictures: their sizes, formats and budget."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from dml.audit.pictures import LONGEST, album, encode


def opened(uri: str) -> Image.Image:
    head, content = uri.split(",", 1)
    assert re.fullmatch("data:image/(webp|png);base64", head)
    return Image.open(io.BytesIO(base64.b64decode(content)))


def photos(side: int, noise: float):
    """40 smooth images of a side, again and again, with noise: like photographs, or harder to compress."""
    rng = np.random.default_rng(0)
    bank = []
    for _ in range(40):
        small = Image.fromarray(rng.integers(0, 255, (14, 14, 3), dtype=np.uint8))
        smooth = np.asarray(small.resize((side, side), Image.Resampling.BICUBIC), dtype=float)
        bank.append((smooth + noise * rng.normal(size=smooth.shape)).clip(0, 255).astype(np.uint8))
    pixels = np.stack(bank)
    return lambda rows: pixels[rows % len(pixels)]


def test_a_small_image_is_kept_without_loss():
    pixels = np.random.default_rng(0).integers(0, 255, (8, 6, 1), dtype=np.uint8)
    assert np.array_equal(np.asarray(opened(encode(pixels, 96))), pixels[..., 0])


@pytest.mark.slow
def test_two_hundred_looks_and_a_hundred_suspects_fit():
    rng = np.random.default_rng(0)
    large, medium = rng.permutation(2000)[:200].tolist(), rng.permutation(2000)[:100].tolist()
    small = rng.integers(0, 2000, 740).tolist()
    found = album(photos(256, 40), large, medium, small)
    shown = [(found.large, large), (found.medium, medium), (found.small, small)]
    total = sum(len(pictures[row]) for pictures, rows in shown for row in rows)
    assert total < 3e6
    assert LONGEST[0] > max(opened(uri).size[0] for uri in found.large.values())
