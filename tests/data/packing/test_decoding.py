"""Images of every kind become 8-bit grey or RGB, or raise an error with the reason."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import EpsImagePlugin, Image

from dml.data.packing.decoding import MAX_PIXELS, CorruptImage, decode, header, resize

RAMP = np.arange(256, dtype=np.uint8).reshape(16, 16)


def encoded(image, form, **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def grey(content):
    return np.asarray(decode(content, 1))


def colour(content):
    return np.asarray(decode(content, 3))


def test_one_bit():
    content = encoded(Image.fromarray(RAMP >= 128), "PNG")
    assert header(content) == (16, 16, True)
    np.testing.assert_array_equal(grey(content), np.where(RAMP >= 128, 255, 0))


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bit_is_scaled_not_clipped(form):
    values = np.random.default_rng(0).integers(0, 65536, (16, 16)).astype(np.uint16)
    content = encoded(Image.fromarray(values), form)
    assert header(content) == (16, 16, True)
    np.testing.assert_array_equal(grey(content), np.rint(values / 65535 * 255))
    np.testing.assert_array_equal(colour(content)[:, :, 1], grey(content))


@pytest.mark.parametrize("array", [RAMP.astype(np.float32), RAMP.astype(np.int32), RAMP.astype(np.int32) * 1000])
def test_pixels_without_a_fixed_range(array):
    """The kind of pixel decides, not the values: those of one image say nothing of the range of the next."""
    with pytest.raises(CorruptImage, match="no fixed range: save it with 8 or 16 bits"):
        decode(encoded(Image.fromarray(array), "TIFF"), 1)


@pytest.mark.parametrize("form", ["JPEG", "TIFF"])
def test_cmyk(form):
    red = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    content = encoded(red, form)
    assert header(content) == (8, 8, False)
    np.testing.assert_allclose(colour(content)[4, 4], (255, 0, 0), atol=3)


def test_the_first_frame_of_an_animation_is_kept():
    frames = [Image.new("RGB", (8, 8), c) for c in ("red", "green", "blue")]
    for form in ("GIF", "WEBP", "PNG"):
        content = encoded(frames[0], form, save_all=True, append_images=frames[1:], **LOSSLESS.get(form, {}))
        np.testing.assert_array_equal(colour(content)[4, 4], (255, 0, 0))


LOSSLESS = {"WEBP": {"lossless": True}}


def test_transparency_is_flattened_on_white():
    clear, half = Image.new("RGBA", (8, 8), (255, 0, 0, 0)), Image.new("RGBA", (8, 8), (0, 0, 0, 128))
    np.testing.assert_array_equal(colour(encoded(clear, "PNG"))[0, 0], (255, 255, 255))
    np.testing.assert_allclose(colour(encoded(half, "PNG"))[0, 0], 127, atol=1)
    content = encoded(Image.new("LA", (8, 8), (0, 0)), "PNG")
    assert header(content) == (8, 8, True)
    assert grey(content)[0, 0] == 255


@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation(form, orientation):
    """A camera held upright writes pixels that lie on their side, and says so; viewers turn them."""
    pixels = np.zeros((8, 16, 3), np.uint8)
    pixels[:4, :8] = 255  # the upper left corner
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = encoded(Image.fromarray(pixels), form, exif=exif, **LOSSLESS.get(form, {}))
    rows, columns = np.nonzero(colour(content)[:, :, 0] > 128)
    height, width = (8, 16) if orientation < 5 else (16, 8)
    assert header(content)[:2] == colour(content).shape[:2] == (height, width)
    corner = f"{'lower' if rows.min() else 'upper'} {'right' if columns.min() else 'left'}"
    assert corner == CORNERS[orientation - 1]


# Where the first row and column are, by the orientations 1 to 8 (EXIF 2.32, tag 274): row 0 top, column 0 left, ...
CORNERS = ("upper left", "upper right", "lower right", "lower left") * 2


@pytest.mark.parametrize("form", ["EPS", "PDF", "TGA"])
def test_formats_that_no_study_needs_are_not_read(form, tmp_path, monkeypatch):
    """Pillow decodes EPS with Ghostscript, an interpreter of programs, whatever a file's name ends with."""
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *args, **options: pytest.fail("Ghostscript runs"))
    content = encoded(Image.new("RGB", (8, 4), "red"), form)
    (tmp_path / "photo.jpg").write_bytes(content)
    for image in (content, tmp_path / "photo.jpg"):
        for read in (header, lambda image: decode(image, 3)):
            with pytest.raises(CorruptImage, match=r"^not a JPEG, PNG, .* or AVIF image"):
                read(image)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_files(form, share):
    content = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)), form)
    with pytest.raises(CorruptImage):
        decode(content[: int(share * len(content))], 3)


def large_png(side):
    """A grey PNG whose header states a square of this side. The rest is never read."""
    header = struct.pack(">2I5B", side, side, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    parts = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_thirty_thousand_pixels_a_side():
    """Refused because of its header, before anything is decoded."""
    assert header(large_png(9_000)) == (9_000, 9_000, True)
    content = large_png(30_000)
    for read in (header, grey):
        with pytest.raises(CorruptImage, match=f"more than {MAX_PIXELS}"):
            read(content)


def test_a_central_square_is_cropped_and_resized_by_a_filter():
    """As torchvision and timm do: the shorter side to side / crop, then the centre, up to what the border shows."""
    x, y = np.meshgrid(np.linspace(0, 255, 96), np.linspace(0, 200, 64))
    image = Image.fromarray(((x + y) / 2).astype(np.uint8))
    cropped = resize(image, {"side": 28, "interpolation": "bicubic", "crop": 0.875})[:, :, 0].astype(int)
    whole = np.asarray(image.resize((48, 32), Image.Resampling.BICUBIC)).astype(int)
    assert abs(cropped - whole[2:30, 10:38])[2:-2, 2:-2].max() <= 1
    squashed = resize(image, {"side": 28, "interpolation": "bicubic"})[:, :, 0]
    np.testing.assert_array_equal(squashed, np.asarray(image.resize((28, 28), Image.Resampling.BICUBIC)))
