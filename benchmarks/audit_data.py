"""What the benchmarks of the audit share: images whose truth is known, their vectors, wrong labels, finished rows.

The mirror holds `cifar100/cifar-100-python.tar.gz`, `cifar100n/cifar100n.csv`, `mnist/`, `omniglot/`, and for Flowers
and Cars the folders `flowers89` and `cars100`, each with a `table.csv` (path, fine).
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import pickle
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from sklearn.datasets import load_digits
from torch.nn import functional

import dml
from dml import files

SIDES = {"cifar": 96, "flowers": 128, "cars": 128, "mnist": 64, "omniglot": 64}  # the network's input, pixels
PIXELS = ("mnist", "omniglot")  # pixels are a second representation
LETTERS = 500  # of Omniglot's background set, 20 images each
FOLDS = 5
VERSION = 3  # of the audit: saved rows of another one are computed again


def parser(text: str | None) -> argparse.ArgumentParser:
    """The options that all these benchmarks have."""
    options = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mirror", type=Path, default=Path(os.environ.get("DML_MIRROR", ".")))
    options.add_argument("--weights", type=Path, default=Path("mobilenet_v1_075.safetensors"))
    options.add_argument("--cache", type=Path, default=Path("/tmp/dml-audit"))
    options.add_argument("--peer", type=Path, help="the folder where cleanlab is installed")
    options.add_argument("--rows", default="", help="parts of the rows' names, separated by |; default: all")
    return options


def finished(
    rows: Mapping[str, Any], place: Callable[[str], Path], compute: Callable[[str], dict], arguments: argparse.Namespace
) -> Iterator[tuple[str, dict]]:
    """The results of the rows that were asked for; each is saved at its place once it is computed.

    A row whose data are absent is skipped with a message.
    """
    if arguments.peer is not None:
        sys.path.append(str(arguments.peer))
    for name in rows:
        if not any(part in name for part in arguments.rows.split("|")):
            continue
        path = place(name)
        if not path.exists():
            print(name, flush=True)
            try:
                files.write_json(path, compute(name))
            except FileNotFoundError as error:
                print(f"  skipped: {error.filename} is missing (--mirror, --weights)")
                continue
        yield name, files.read_json(path)


def cifar(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with tarfile.open(folder / "cifar100/cifar-100-python.tar.gz") as archive:
        member = next(m for m in archive.getmembers() if m.name.endswith("/train"))
        file = archive.extractfile(member)
        assert file is not None
        data = pickle.load(file, encoding="bytes")
    return data[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), np.array(data[b"fine_labels"])


def mnist(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    def values(name: str, skip: int) -> np.ndarray:
        with gzip.open(folder / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=skip)

    images = values("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28, 1)
    return images, values("train-labels-idx1-ubyte.gz", 8).astype(np.int64)


def omniglot(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    with zipfile.ZipFile(folder / "omniglot/images_background.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".png"))
        labels = np.unique([name.rsplit("/", 1)[0] for name in names], return_inverse=True)[1]
        names = [name for name, label in zip(names, labels, strict=True) if label < LETTERS]
        read = [Image.open(io.BytesIO(archive.read(name))).convert("L").resize((56, 56), 4) for name in names]
    return 255 - np.stack([np.asarray(image) for image in read])[..., None], labels[: len(names)]


def folder_of_images(folder: Path, side: int = 128) -> tuple[np.ndarray, np.ndarray]:
    table, images = pd.read_csv(folder / "table.csv"), []
    for path in table["path"]:
        image = Image.open(folder / path).convert("RGB")
        scale = side / min(image.size)
        size = tuple(max(side, round(length * scale)) for length in image.size)
        left, top = (size[0] - side) // 2, (size[1] - side) // 2
        images.append(np.asarray(image.resize(size, 3).crop((left, top, left + side, top + side))))
    return np.stack(images), np.unique(table["fine"], return_inverse=True)[1]


READERS = {
    "cifar": cifar,
    "mnist": mnist,
    "omniglot": omniglot,
    "flowers": lambda folder: folder_of_images(folder / "flowers89"),
    "cars": lambda folder: folder_of_images(folder / "cars100"),
}


@torch.inference_mode()
def frozen(images: np.ndarray, side: int, weights: Path) -> np.ndarray:
    """Features of MobileNet v1 0.75, float32 (n, 768)."""
    import timm.models.efficientnet as family
    from safetensors.torch import load_file

    net = family._gen_mobilenet_v1("mobilenetv1_100", 0.75, num_classes=0, pad_type="same")
    net.load_state_dict(load_file(weights), strict=True)
    net = net.eval().to(memory_format=torch.channels_last)
    out = []
    for start in range(0, len(images), 250):
        batch = torch.from_numpy(np.array(images[start : start + 250])).permute(0, 3, 1, 2).float() / 127.5 - 1
        batch = batch.expand(-1, 3, -1, -1)
        if batch.shape[-1] != side:
            batch = functional.interpolate(batch, size=(side, side), mode="bilinear", align_corners=False)
        out.append(net(batch.contiguous(memory_format=torch.channels_last)))
        print(f"\r  features {start + len(batch)} of {len(images)}", end="", flush=True)
    print()
    return torch.cat(out).numpy()


def load(data: str, rows: slice, arguments: argparse.Namespace) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Representations and true labels of some images, cached."""
    if data == "digits":
        pixels, labels = load_digits(return_X_y=True)
        return {"pixels": pixels[rows].astype(np.float32)}, labels[rows]
    path = arguments.cache / f"{data}-{rows.start}-{rows.stop}.npz"
    if not path.exists():
        images, labels = (values[rows] for values in READERS[data](arguments.mirror))
        arrays = {"frozen": frozen(images, SIDES[data], arguments.weights), "labels": labels}
        if data in PIXELS:
            arrays["pixels"] = images[:, :: images.shape[1] // 28, :: images.shape[1] // 28].reshape(len(images), -1)
        with files.replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, **arrays)
    with np.load(path) as file:
        content = dict(file)
    labels = np.unique(content.pop("labels"), return_inverse=True)[1]
    return {name: values.astype(np.float32) for name, values in content.items()}, labels


def corrupted(
    data: str, noise: str, rate: float | None, rows: slice, seed: int, arguments: argparse.Namespace
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Representations, labels as given, and true labels of the same level; without classes smaller than the folds."""
    vectors, true = load(data, rows, arguments)
    if noise.startswith("human"):
        level = "coarse" if noise == "human_groups" else "fine"
        table = pd.read_csv(arguments.mirror / "cifar100n/cifar100n.csv")[rows]
        given, true = table[f"noisy_{level}"].to_numpy(), table[f"clean_{level}"].to_numpy()
    else:
        features = vectors.get("frozen", next(iter(vectors.values())))
        unit = features / np.linalg.norm(features, axis=1, keepdims=True)
        context = {} if noise == "uniform" else {"features": unit}
        given = dml.noise.build(noise, rate=rate).corrupt(true, seed=seed, **context).observed
    enough = np.bincount(given)[given] >= FOLDS
    return {key: values[enough] for key, values in vectors.items()}, given[enough], true[enough]
