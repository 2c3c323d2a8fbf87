"""Decode one image: encoded bytes, a file or an array -> 8-bit pixels, grey or RGB, as viewers show it.

16-bit grey is scaled by 255/65535; pixels of 32 bits, or with a sign, are refused. Transparency is flattened on white.
"""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from dml.discovery import installed
from dml.types import Resize

MAX_PIXELS = 89_478_485  # Image.MAX_IMAGE_PIXELS, above which Pillow only warns

warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning, append=True)  # it is an error below

GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")

FORMATS = ("JPEG", "PNG", "PPM", "BMP", "DIB", "GIF", "TIFF", "WEBP", "JPEG2000", "AVIF")
"""Formats that are read, whatever a file's name ends with. Pillow knows more, such as EPS, for which it runs
Ghostscript, an interpreter of programs."""

SIXTEEN_BIT = ("PNG", "PPM")  # their mode `I` has no more than 16 bits

PLUGINS = ("Tiff", "WebP", "Jpeg2K", "Avif")  # Pillow's modules of those that it does not import itself
HEIF = "pillow_heif"  # the package that adds the format of telephones to Pillow

MISSING = "the file is missing"
UNKNOWN = "not a JPEG, PNG, PPM, BMP, GIF, TIFF, WebP, JPEG 2000 or AVIF image (HEIC: pip install 'noisy-dml[heic]')"
RANGE = "pixels, which have no fixed range: save it with 8 or 16 bits"
EXIF = {"exif", "Raw profile type exif"}  # Pillow's keys
TRANSPOSED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}  # EXIF orientation -> what undoes it

ImageLike = Path | bytes | np.ndarray
How = int | Mapping[str, Any] | None
"""How images are resized: to a square of a side, as the fields of a `dml.types.Resize` say, or not."""


class CorruptImage(Exception):
    """An image cannot be decoded. The message is the same on every machine."""


def header(image: ImageLike) -> tuple[int, int, bool]:
    """Height, width and whether the image is grey, without decoding it. Raises CorruptImage."""
    if isinstance(image, np.ndarray):
        _check_array(image)
        return image.shape[0], image.shape[1], image.ndim == 2 or image.shape[2] == 1
    with _open(image) as opened:
        height, width = opened.height, opened.width
        if _orientation(opened) in range(5, 9):  # these exchange height and width
            height, width = width, height
        return height, width, opened.mode in GREY_MODES


def decode(image: ImageLike, channels: int) -> Image.Image:
    """Decode into mode `L` (channels 1) or `RGB` (channels 3). Raises CorruptImage."""
    if isinstance(image, np.ndarray):
        _check_array(image)
        opened = Image.fromarray(image.squeeze(2) if image.ndim == 3 and image.shape[2] == 1 else image)
        return opened.convert("L" if channels == 1 else "RGB")
    with _open(image) as opened:
        try:
            orientation = _orientation(opened)
            pixels = _eight_bit(opened).convert("L" if channels == 1 else "RGB")
            return pixels.transpose(TRANSPOSED[orientation]) if orientation in TRANSPOSED else pixels
        except (CorruptImage, MemoryError):
            raise
        except Exception as error:  # Pillow's plug-ins raise OSError, SyntaxError, struct.error, EOFError, ...
            raise CorruptImage(f"cannot be decoded: {error}") from error


def resize(image: Image.Image, how: How) -> np.ndarray:
    """-> uint8 (H, W, C). A number resizes to (side, side, C), bilinear with antialiasing, ignoring the aspect ratio; a
    mapping as `dml.types.Resize` says."""
    if how is not None:
        spec = as_resize(how)
        size, cropped = (spec.side, spec.side), min(image.size) * (spec.crop or 1.0)
        left, top = ((length - cropped) / 2 for length in image.size)
        box = None if spec.crop is None else (left, top, left + cropped, top + cropped)
        if box is not None or image.size != size:
            image = image.resize(size, Image.Resampling[spec.interpolation.upper()], box)
    pixels = np.asarray(image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def as_resize(how: int | Mapping[str, Any]) -> Resize:
    """A `resize` as a manifest has it."""
    return Resize(how) if isinstance(how, int) else Resize(**how)


def _check_array(image: np.ndarray) -> None:
    assert image.dtype == np.uint8, image.dtype
    assert image.ndim == 2 or (image.ndim == 3 and image.shape[2] in (1, 3)), image.shape


def _open(image: Path | bytes) -> Image.Image:
    try:
        if not (image.stat().st_size if isinstance(image, Path) else image):
            raise CorruptImage("an empty file")
        opened = Image.open(io.BytesIO(image) if isinstance(image, bytes) else image, formats=_formats())
    except FileNotFoundError:
        raise CorruptImage(MISSING) from None
    except UnidentifiedImageError:
        raise CorruptImage(UNKNOWN) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise CorruptImage(f"more than {MAX_PIXELS} pixels") from None
    except (CorruptImage, MemoryError):
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or error  # without the path, which differs between machines
        raise CorruptImage(f"cannot be read: {reason}") from error
    if opened.width * opened.height > MAX_PIXELS:
        raise CorruptImage(f"{opened.width} x {opened.height} pixels, more than {MAX_PIXELS}")
    return opened


@cache
def _formats() -> tuple[str, ...]:
    """Those of `FORMATS` that this Pillow can read, and HEIC where its package is installed."""
    Image.preinit()
    for name in PLUGINS:
        try:
            importlib.import_module(f"PIL.{name}ImagePlugin")
        except ImportError:  # AVIF came with Pillow 11.3
            continue
    readable = tuple(name for name in FORMATS if name in Image.OPEN)
    if not installed(HEIF):
        return readable
    importlib.import_module(HEIF).register_heif_opener()
    return (*readable, "HEIF")


def _eight_bit(image: Image.Image) -> Image.Image:
    """Convert an image of any mode to mode L or RGB."""
    mode = image.mode
    if mode.startswith("I;16") or (mode == "I" and image.format in SIXTEEN_BIT):
        values = np.asarray(image).astype(np.int64)
        return Image.fromarray(((values * 255 + 32767) // 65535).astype(np.uint8))
    if mode in ("I", "F"):
        raise CorruptImage(f"{'32-bit or signed' if mode == 'I' else 'float'} {RANGE}")
    image.load()
    if mode in ("RGBA", "RGBa", "LA", "La", "PA") or "transparency" in image.info:
        solid = image.convert("RGBA")
        solid = Image.alpha_composite(Image.new("RGBA", solid.size, "white"), solid)
        return solid.convert("L" if mode in ("1", "L", "LA", "La") else "RGB")
    return image.convert("L" if mode in ("1", "L") else "RGB")


def _orientation(image: Image.Image) -> int:
    """EXIF orientation from 1 (as stored) to 8, before decoding. 1 if Pillow applies it, and if the EXIF is broken."""
    if image.format == "TIFF" or (image.format == "PNG" and not EXIF & set(image.info)):
        return 1  # `getexif` would decode a PNG, to look behind its pixels
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # SyntaxError, struct.error, OSError, ...
        return 1
    return orientation if isinstance(orientation, int) else 1
