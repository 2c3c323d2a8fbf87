"""Pictures: their sizes, formats and budget."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from dml.report.audit.album import BUDGET, LEVELS, album, encode


def opened(uri: str) -> Image.Image:
    head, content = uri.split(",", 1)
    assert head in ("data:image/jpeg;base64", "data:image/png;base64")
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
    assert np.array_equal(np.asarray(opened(encode(pixels, 96, 75))), pixels[..., 0])


def test_a_large_image_becomes_a_jpeg_of_the_same_shape():
    image = opened(encode(photos(200, 5)(np.array([0]))[0][:100], 96, 75))
    assert (image.format, image.size, image.mode) == ("JPEG", (96, 48), "RGB")


def test_each_row_is_loaded_in_the_sizes_that_are_asked_for():
    asked = []

    def images(rows):
        asked.append(rows)
        return np.stack([np.full((4, 4, 1), row, dtype=np.uint8) for row in rows])

    found = album(images, [5, 2], [2, 9], [9, 9, 7])
    assert (set(found.large), set(found.medium), set(found.small)) == ({5, 2}, {2, 9}, {9, 7})
    for pictures in (found.large, found.medium, found.small):
        for row, uri in pictures.items():
            assert np.asarray(opened(uri)).max() == row
    assert found.reduced == 0


def test_no_images_no_pictures():
    assert not album(None, [1], [2], [3]).large


@pytest.mark.slow
@pytest.mark.parametrize("noise", [4, 60])
def test_two_hundred_looks_and_a_hundred_suspects_fit(noise):
    rng = np.random.default_rng(0)
    large, medium = rng.permutation(2000)[:200].tolist(), rng.permutation(2000)[:100].tolist()
    small = rng.integers(0, 2000, 740).tolist()
    found = album(photos(256, noise), large, medium, small)
    shown = [(found.large, large), (found.medium, medium), (found.small, small)]
    total = sum(len(pictures[row]) for pictures, rows in shown for row in rows)
    assert total < 1.1 * BUDGET
    assert found.reduced in [level[0][0] for level in LEVELS]
    assert max(opened(uri).size[0] for uri in found.large.values()) == found.reduced


@pytest.mark.parametrize(
    "pixels", [np.zeros((1, 4, 4, 3)), np.zeros((1, 4, 4), np.uint8), np.zeros((2, 4, 4, 3), np.uint8)]
)
def test_other_things_than_pixels(pixels):
    with pytest.raises(ValueError, match="images: for 1 rows expected uint8"):
        album(lambda rows: pixels, [0], [], [])
