"""`dml embed`: images, or vectors of another program, to vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dml.cli.vectors import Embedded

FORMATS = (".npy", ".parquet")

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A trial's folder, digits of its key, a study (the best seed of its best cell with labels as given), or "
        "models:/... of MLflow.",
    ),
]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Of a study with several datasets: which one.")]
Noise = Annotated[
    str | None,
    typer.Option("--noise", help="Of a study: a noise or a level, such as uniform-0.2. None: labels as given."),
]
SkipCorrupt = Annotated[bool, typer.Option("--skip-corrupt", help="Leave out files that cannot be decoded.")]


def embed(
    model: ModelName,
    images: Annotated[
        list[Path], typer.Argument(metavar="IMAGES", help="Folders or files; for a model of vectors, their file.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="vectors.npy (paths in a .csv beside it) or vectors.parquet.")
    ],
    skip_corrupt: SkipCorrupt = False,
    dataset: Dataset = None,
    noise: Noise = None,
) -> None:
    """Embed images with a trained model, and save the vectors. A model of vectors takes a file of them.

    [bold]Examples[/bold]: dml embed my-images /data/photos -o vectors.npy · dml embed 3f2a91 a.jpg b.jpg -o two.parquet
    """
    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"{out}: expected a file that ends in {' or '.join(FORMATS)}", param_hint="--out")
    from dml.cli.models import describe, find_model
    from dml.cli.vectors import Embedded, embed_files, embed_vectors, image_files, takes_vectors
    from dml.counting import counted
    from dml.files import check_writable

    check_writable(out)
    folder, names = find_model(model, dataset, noise), out.with_suffix(".csv")
    named, of_vectors = out.suffix == ".npy" and names.exists(), takes_vectors(folder)
    if of_vectors and out.resolve() in [place.resolve() for place in images]:
        raise typer.BadParameter(f"{out} is what is embedded: choose another name", param_hint="--out")
    if named and of_vectors == out.exists():
        what = f"has the paths of the images in {out}" if of_vectors else "exists, and is not of earlier vectors"
        raise typer.BadParameter(f"{names} {what}: choose another name", param_hint="--out")
    if out.exists() and not is_embedded(out, with_paths=not of_vectors):
        raise typer.BadParameter(
            f"{out} exists, and is not of earlier vectors: choose another name", param_hint="--out"
        )
    paths = [] if of_vectors else image_files(images)
    typer.echo(describe(folder), err=True)
    found = Embedded([], embed_vectors(folder, images)) if of_vectors else embed_files(folder, paths, skip_corrupt)
    save(found, out)
    print(f"{out}: {counted(len(found.vectors), 'vector')} of {counted(found.vectors.shape[1], 'number')}")


def is_embedded(out: Path, with_paths: bool) -> bool:
    """Whether a file is as `save` writes it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if out.suffix == ".parquet":
            return set(pq.read_schema(out).names) - {"path"} == {"vector"}
        vectors = np.load(out, mmap_mode="r")
        names = out.with_suffix(".csv")
        named = not with_paths or (names.is_file() and names.read_text(encoding="utf-8").startswith("path\n"))
        return vectors.ndim == 2 and vectors.dtype == np.float32 and named
    except (OSError, ValueError, EOFError, pa.ArrowException):
        return False


def save(found: Embedded, out: Path) -> None:
    """Write vectors: `.npy`, with the paths in a `.csv` beside it, or `.parquet` with columns `path` and `vector`.

    Without paths only the vectors.
    """
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dml.files import replacing

    paths = pd.DataFrame({"path": [str(path) for path in found.paths]})
    with replacing(out) as temporary:
        if out.suffix == ".npy":
            with open(temporary, "wb") as file:
                np.save(file, found.vectors)
        else:
            flat = pa.array(found.vectors.ravel())
            vectors = pa.FixedSizeListArray.from_arrays(flat, found.vectors.shape[1])
            named = {"path": paths["path"].tolist()} if found.paths else {}
            pq.write_table(pa.table({**named, "vector": vectors}), temporary)
    if out.suffix == ".npy" and found.paths:
        with replacing(out.with_suffix(".csv")) as temporary:
            paths.to_csv(temporary, index=False)
