"""What each source, packing, each sampler and each augmentation computes, pinned by golden files."""

import hashlib
import inspect

import numpy as np
import pandas as pd
import pytest
import torch
from made_source import Made
from sampling import build, take
from small_archives import downloads, makers, mirrored, quiet

from dml import discovery
from dml.data import DataError, augment, batches, sources
from dml.data.packing import open_packed, pack, packer
from dml.data.packing.listing import NUMBERS, TEXTS

MAKERS = makers()
FIELDS = (*TEXTS, *NUMBERS)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@pytest.mark.parametrize("key", MAKERS)
def test_sources(key, golden, tmp_path, monkeypatch):
    """Records of small archives (pixels only of arrays, since encoders differ), and roles of a fixed index."""
    name, make = MAKERS[key]
    options = {"complete": False} if downloads(name) else {}
    source, raw, _ = mirrored(name, make, tmp_path, monkeypatch, **options)
    source.download(raw, quiet)
    lines, pixels = [], hashlib.sha256()
    own = list(source.images(raw))
    for record in own:
        lines.append(" | ".join(str(record.get(field, "")) for field in FIELDS))
        if isinstance(record["image"], np.ndarray):
            pixels.update(np.ascontiguousarray(record["image"]).tobytes())
    try:
        roles = source.roles(fixed_index())
    except DataError:
        roles = source.roles(pd.DataFrame([{name: r[name] for name in FIELDS if name in r} for r in own]))
    values = {
        "records": lines[:12],
        "all records": digest("\n".join(lines).encode()),
        "pixels": pixels.hexdigest()[:16],
        "roles": " ".join(roles),
        "disjoint": source.disjoint,
        "levels": source.levels,
        "counts": source.counts,
        "content": source.content,
    }
    golden.check("sources", name if key.endswith("-make") else key, sources.find(name), values)


def fixed_index() -> pd.DataFrame:
    """230 rows with all kinds of parts, every class at least once, and some junk of Market-1501."""
    rows = np.arange(230)
    parts = np.array(["train", "test", "background", "evaluation", "query", "gallery"])
    return pd.DataFrame(
        {
            "index": rows,
            "fine": np.where(rows % 50 == 49, 1502, rows * 7 % 211),
            "coarse": rows % 20,
            "part": parts[rows * 5 % 11 % 6],
            "camera": rows % 4,
            "path": [f"folder/{row:04d}" for row in rows],
            "fine_name": [f"class {row}" for row in rows],
        }
    )


def test_packing(golden, tmp_path):
    """Pixels of several sizes and kinds, resized and not, and the digest that trials' keys contain."""
    rows, columns = np.mgrid[:9, :7]
    grey = [((rows * (11 + n) + columns * columns * 5) % 256).astype(np.uint8) for n in range(3)]
    colour = [np.stack([image, image.T[:7, :7].repeat(2, 0)[:9], 255 - image], -1) for image in grey]
    values = {}
    for label, images, resize in (("grey", grey, None), ("colour", [*colour, grey[0]], None), ("resized", colour, 4)):
        manifest = pack(Made(images), tmp_path / "raw", tmp_path / label, resize, report=quiet)
        packed = open_packed(tmp_path / label)
        values[label] = {
            "pixels": digest(packed.images.tobytes()),
            "first": packed.images[0, :2].tolist(),
            "index": packed.index.to_csv(index=False),
            "digest": manifest["digest"],
        }
    defaults = {name: p.default for name, p in inspect.signature(pack).parameters.items()}
    settings = {name: defaults[name] for name in ("resize", "on_corrupt")}
    golden.check("packing", "packing", packer, values, defaults=settings)


@pytest.mark.parametrize("name", discovery.names("dml.data.batches"))
def test_samplers(name, golden):
    labels = np.arange(120) * 7 % 19 - 1
    sampler = build(name, labels, classes=4, per_class=3, seed=5)
    values = {"first": [batch.tolist() for batch in take(sampler, 8)]}
    sampler.load_state_dict({**sampler.state_dict(), "batch": 1000})
    values["later"] = [batch.tolist() for batch in take(sampler, 2)]
    golden.check("batches", name, batches.find(name), values)


@pytest.mark.parametrize("name", discovery.names("dml.data.augment"))
def test_augmentations(name, golden):
    """Every 40th pixel of two images, in training and evaluation, in colour and from grey."""
    count, channels, height, width = np.ogrid[:2, :3, :236, :248]
    pattern = (count * 57 + channels * 31 + height * 3 + width * 2 + (height * width) // 50) % 256
    images = torch.from_numpy(pattern.astype(np.uint8))
    values = {}
    for label, given, settings in (
        ("defaults", images, {}),
        ("grey", images[:, :1], {"channels": 3, "normalization": {"mean": [0.5], "std": [0.25]}}),
    ):
        pipeline = augment.build(name, **settings)
        for training in (True, False):
            result = pipeline(given, training, torch.Generator().manual_seed(3))
            values[f"{label}, {'training' if training else 'evaluation'}"] = {
                "shape": tuple(result.shape),
                "mean": result.double().mean().item(),
                "pixels": [round(value, 6) for value in result[..., ::40, ::60].flatten().tolist()],
            }
        values["image_size"] = pipeline.image_size
    golden.check("augment", name, type(pipeline), values, rtol=1e-5, atol=1e-5)
