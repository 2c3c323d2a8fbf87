"""The report: one static site that opens from disk, built from what the sweeps left.

`build` writes a folder beside `out` and puts it in place when it is whole. The same inputs give the same bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dml.config import Study
from dml.report import pages, style, theory
from dml.report.results import load
from dml.report.tables import curves_for_dvc


def build(
    studies: Sequence[Study],
    results_root: Path = Path("results"),
    store: Path = Path("store"),
    out: Path = Path("report"),
) -> Path:
    """Write the report of some studies and return the path of its `index.html`.

    Parameters
    ----------
    results_root : holds `<study>/trials.parquet` and `<study>/summary.json`; what is absent is shown as such.
    store : holds `trials/<key>/embeddings.npz` where a study keeps embeddings.
    out : replaced as a whole: `index.html`, `theory.html`, `studies/<study>.html`, `figures/`, `data/` (CSV), `plots/`
        (for DVC).

    Raises
    ------
    ValueError : two studies share a name; `published` names no row; `out` is a folder that holds something else.
    """
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise ValueError(f"report: two studies share a name: {', '.join(names)}")
    if out.exists() and any(out.iterdir()) and not (out / "index.html").is_file():
        raise ValueError(f"report: {out} holds something that is no report; name another folder, or empty it")
    out = out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as folder:
        fresh = Path(folder) / "new"
        _write(fresh, studies, results_root, store)
        if out.exists():
            out.rename(Path(folder) / "old")
        fresh.rename(out)
    return out / "index.html"


def _write(root: Path, studies: Sequence[Study], results_root: Path, store: Path) -> None:
    for name in ("studies", "figures", "data", "plots"):
        (root / name).mkdir(parents=True)
    environment = Environment(
        loader=PackageLoader("dml.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    templates = Path(__file__).with_name("templates")
    shared = {
        "css": Markup((templates / "style.css").read_text(encoding="utf-8")),
        "js": Markup((templates / "table.js").read_text(encoding="utf-8")),
    }
    made = []
    for study in studies:
        results = load(study, results_root / study.name)
        with style.applied():
            page = pages.study_page(results, store, root)
        curves_for_dvc(results).to_csv(root / "plots" / f"{study.name}.csv", index=False, float_format="%.6g")
        text = environment.get_template("study.html").render(
            page=page, root="../", eyebrow=f"Study {study.name}", **shared
        )
        (root / page.href).write_text(text, encoding="utf-8")
        made.append(page)
    with style.applied():
        proven = theory.theory_page(root)
    text = environment.get_template("study.html").render(page=proven, root="", eyebrow="Theory", **shared)
    (root / proven.href).write_text(text, encoding="utf-8")
    text = environment.get_template("index.html").render(pages=made, theory=proven, root="", **shared)
    (root / "index.html").write_text(text, encoding="utf-8")
