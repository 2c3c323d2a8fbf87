"""Images as vectors of pixels, against Pillow."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from dml.sweep.inputs.vectors import pixels


def packed(height, width, channels=3, count=7):
    images = np.random.default_rng(0).integers(0, 256, (count, height, width, channels), dtype=np.uint8)
    return SimpleNamespace(images=images)


def expected(images, height, width):
    """Each channel reduced by Pillow's bilinear filter; rows are channel by channel."""
    vectors = []
    for image in images:
        planes = [Image.fromarray(plane.astype(np.float32)) for plane in np.moveaxis(image, 2, 0)]
        reduced = [np.asarray(plane.resize((width, height), Image.Resampling.BILINEAR)) for plane in planes]
        vectors.append(np.stack(reduced).ravel() / 255)
    return np.array(vectors) - np.mean(vectors, axis=0)


@pytest.mark.parametrize(
    ("shape", "side", "size"),
    [
        ((6, 9, 3), 9, (6, 9)),
        ((6, 9, 3), 20, (6, 9)),
        ((20, 30, 3), 9, (6, 9)),
        ((16, 21, 1), 6, (5, 6)),
        ((40, 3, 3), 8, (8, 1)),
    ],
    ids=["as large", "smaller", "larger", "grey", "narrow"],
)
def test_the_longer_side_is_reduced_and_the_mean_image_is_subtracted(shape, side, size):
    found, rows = packed(*shape), np.array([4, 0, 6])
    np.testing.assert_allclose(pixels(found, rows, side)[:, 0], expected(found.images[rows], *size), atol=1e-5)
    both = expected(np.concatenate([found.images[rows], found.images[rows][:, :, ::-1]]), *size)
    views = pixels(found, rows, side, "mirror")
    np.testing.assert_allclose(views, np.stack([both[:3], both[3:]], axis=1), atol=1e-5)
