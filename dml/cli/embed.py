"""`dml embed`: images, or vectors of another program, to vectors."""

from __future__ import annotations

from os.path import exists, isdir, isfile  # of a long text, which is no path, pathlib raises an error
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dml.cli.look import Columns, Labels, Mirror, Root

if TYPE_CHECKING:
    from dml.cli.models import Embedded

FORMATS = (".npy", ".parquet")
SHOWN = 5  # queries among vectors whose nearest rows are printed too

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A trial's folder, a study (the best seed of its best cell with labels as given), or "
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
    column: Columns = None,
) -> None:
    """Embed images with a trained model, and save the vectors. A model of vectors takes a file of them.

    [bold]Examples[/bold]: dml embed my-images /data/photos -o vectors.npy · dml embed my-images a.jpg -o one.parquet
    """
    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"{out}: expected a file that ends in {' or '.join(FORMATS)}", param_hint="--out")
    from dml.cli.look import columns
    from dml.cli.models import Embedded, describe, embed_files, embed_vectors, find_model, image_files, takes_vectors
    from dml.counting import counted
    from dml.files import check_writable

    check_writable(out)
    folder, names = find_model(model, dataset, noise), out.with_suffix(".csv")
    of_vectors = takes_vectors(folder)
    if skip_corrupt if of_vectors else column:
        raise typer.BadParameter("models of images take --skip-corrupt, models of vectors --column")
    for file in (out, names) if out.suffix == ".npy" and not of_vectors else (out,):
        if file.exists():
            raise typer.BadParameter(f"{file} exists: choose another name, or remove it", param_hint="--out")
    paths = [] if of_vectors else image_files(images)
    typer.echo(describe(folder), err=True)
    embedded = (
        Embedded([], embed_vectors(folder, images, columns(column)))
        if of_vectors
        else embed_files(folder, paths, skip_corrupt)
    )
    save(embedded, out)
    print(f"{out}: {counted(len(embedded.vectors), 'vector')} of {counted(embedded.vectors.shape[1], 'number')}")


def save(embedded: Embedded, out: Path) -> None:
    """Write vectors: `.npy`, with any paths in a `.csv` beside it, or `.parquet` with columns `path` and `vector`."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dml.files import replacing

    paths = pd.DataFrame({"path": [str(path) for path in embedded.paths]})
    with replacing(out) as temporary:
        if out.suffix == ".npy":
            with open(temporary, "wb") as file:
                np.save(file, embedded.vectors)
        else:
            flat = pa.array(embedded.vectors.ravel())
            vectors = pa.FixedSizeListArray.from_arrays(flat, embedded.vectors.shape[1])
            named = {"path": paths["path"].tolist()} if embedded.paths else {}
            pq.write_table(pa.table({**named, "vector": vectors}), temporary)
    if out.suffix == ".npy" and embedded.paths:
        with replacing(out.with_suffix(".csv")) as temporary:
            paths.to_csv(temporary, index=False)


def search(
    places: Annotated[
        list[str],
        typer.Argument(metavar="[MODEL] FOLDER QUERY...", help="A model, if any; where to search; with what."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("search.html"),
    count: Annotated[int, typer.Option("--count", "-k", help="Images to show for each query.", min=1)] = 10,
    skip_corrupt: SkipCorrupt = False,
    dataset: Dataset = None,
    noise: Noise = None,
    labels: Labels = None,
    root: Root = None,
    column: Columns = None,
    mirror: Mirror = None,
) -> None:
    """Find the nearest images of each query in a folder, and write them as one page with thumbnails.

    Without MODEL, all labels choose how images are compared: by the features of a pretrained network, whitened if that
    is better. FOLDER may also be a table of images, or a file of vectors: a QUERY is then the number or text of a row,
    or a file of other vectors. MODEL is a trained model's folder, study or URI. The page needs no other file.

    [bold]Examples[/bold]: dml search ./photos one.jpg · dml search texts.npy 12 · dml search my-images ./photos one.jpg
    """
    import numpy as np

    from dml.cli import models
    from dml.cli.look import best_words, columns
    from dml.cli.project import study_names
    from dml.cli.search_page import TITLE, check_page, nearest, search_page
    from dml.counting import counted
    from dml.files import write_text

    check_page(out, TITLE, "dml search")
    hint = "[MODEL] FOLDER QUERY..."
    if len(places) < 2:
        raise typer.BadParameter("expected a folder and images to search with", param_hint=hint)
    first, pictures = Path(places[0]), True
    of_study = len(places) > 2 and isdir(places[1]) and places[0] in (study_names() or ())
    with_model = not first.exists() or models.model_folder_of(first) or of_study
    missing = [place for place in places[1:] if not exists(place)]
    of_rows = with_model and len(places) > 2 and isfile(places[1])  # of which a query may be one
    if missing and not of_rows and (with_model or first.is_dir()):
        raise typer.BadParameter(f"{missing[0]}: no such file or folder", param_hint=hint)
    if not with_model:
        if dataset is not None or noise is not None or skip_corrupt:
            raise typer.BadParameter("--dataset, --noise and --skip-corrupt are about a search with a model")
        from dml.cli.collection import collect

        folder = first
        seen = collect(first, labels, root, columns(column), mirror, lambda line: typer.echo(line, err=True))
        queried, features = seen.queries(places[1:])
        best, pictures = seen.free(), seen.paths is not None
        words = best_words(best, seen)
        model = words if best.chosen.features != next(iter(seen.features)) else f"{seen.network}, {words}"
        gallery = models.Embedded(seen.names if seen.paths is None else seen.paths, best.embed(seen.features))
        searched = models.Embedded(queried, best.embed(features))
    else:
        if len(places) < 3:
            said = f"{places[0]} is a model, so a query is missing" if first.exists() else f"{first}: no such folder"
            raise ValueError(f"{said}. Expected FOLDER QUERY..., or MODEL FOLDER QUERY...")
        if root is not None or mirror is not None:
            raise typer.BadParameter("--root and --mirror are about a search without a model, which has its own")
        model, folder = places[0], Path(places[1])
        trained = models.find_model(model, dataset, noise)
        typer.echo(models.describe(trained), err=True)
        pictures = not models.takes_vectors(trained)
        if (labels is not None or column) if pictures else skip_corrupt:
            raise typer.BadParameter("models of images take --skip-corrupt, models of vectors --labels and --column")
        if pictures:
            files = models.image_files([folder])
            searched = models.embed_files(trained, models.image_files(map(Path, places[2:])), skip_corrupt)
            gallery = models.embed_files(trained, files, skip_corrupt)
        else:
            called = columns(column)
            gallery = models.embed_rows(trained, folder, called, labels)
            each = [
                models.embed_rows(trained, Path(text), called) if exists(text) else gallery.row(text)
                for text in places[2:]
            ]
            names = [name for rows in each for name in rows.paths]
            searched = models.Embedded(names, np.concatenate([rows.vectors for rows in each]))
        model = f"the model {model}"
    matches = nearest(searched, gallery, count)
    write_text(out, search_page(model, folder, len(gallery.paths), matches, pictures))
    shown = max(len(match.neighbours) for match in matches)
    images = counted(len(gallery.paths), "image" if pictures else "vector")
    searches = counted(len(searched.paths), "query")
    for match in () if pictures else matches[:SHOWN]:
        print("\n".join([str(match.query), *(f"  {near.distance:.3f}  {near.path}" for near in match.neighbours)]))
    print(f"{out.resolve().as_uri()}: the {shown} nearest of {images} for {searches}")
