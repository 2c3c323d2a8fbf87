"""The report: one static site that opens from disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dml.config import Study
from dml.own_files import foreign, refusal, replaced
from dml.papers import paper_claims
from dml.report.assembly import overview
from dml.report.claims import with_verdicts
from dml.report.claims_page import claims_page
from dml.report.loading import load
from dml.report.page.html import Renderer
from dml.report.parallel import prepared, study_pages, workers
from dml.report.regimes import FILE
from dml.report.theory_page import theory_page, theory_sections
from dml.report.tuning import IN_SHORT, mark
from dml.snapshots import Snapshot


def build(
    studies: Sequence[Study],
    results_root: Path = Path("results"),
    store: Path = Path("store"),
    out: Path = Path("report"),
    snapshots: Path = Path("docs/results"),
    data: Path = Path("data"),
    known: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> Path:
    """Write the report of some studies and return the path of its `index.html`. The same inputs give the same bytes.

    Parameters
    ----------
    results_root : contains `<study>/trials.parquet` and `<study>/summary.json`; the report says what is missing.
    store : contains `trials/<key>/embeddings.npz` of the studies that keep embeddings. Slow layouts are kept there.
    snapshots : contains those of studies that were not run here.
    data : contains `<study>/pack.json` of the studies that show images.
    known : the folder of all studies' files. Beside it is the file of the cases in the index's first table, if there is
        one (`dml.report.regimes`).
    progress : called with the number of study pages that are drawn, after each.
    out : its files are replaced by `index.html`, `glossary.html`, `claims.html` and `theory.html` (where there are
        claims and theory), `assets/`, `studies/<study>.html`, `figures/`, `data/` (CSV) and `plots/` (for DVC). Files
        of others stay. If an error is raised, nothing changes.

    Raises
    ------
    ValueError : two studies share a name; `reference_values` names no row; a file of others is in the way in `out`.
    """
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise ValueError(f"report: two studies share a name: {', '.join(names)}")
    if found := foreign(out):
        raise ValueError(refusal(found, Path.cwd()))
    with replaced(out) as root, prepared(), workers(len(studies)) as pool:
        loaded = [load(s, results_root / s.name, store, Snapshot(snapshots / s.name), data / s.name) for s in studies]
        loaded = with_verdicts(loaded)
        waiting = study_pages(pool, loaded, root)
        sections = theory_sections()
        theory = theory_page(root, sections) if sections else None
        asked = paper_claims() or any(results.verdicts for results in loaded)
        claims = claims_page(root, loaded, sections) if asked else None
        renderer = Renderer(root, claims, theory)
        pages = []
        for page in waiting:
            pages.append(page())
            if progress is not None:
                progress(len(pages))
        for each in filter(None, [*pages, theory, claims]):
            renderer.page(each)
        renderer.glossary()
        untuned = IN_SHORT if any(mark(study) for study in studies) else ""
        renderer.index(pages, overview(loaded, root, known and known.parent / FILE), untuned)
    return out.resolve() / "index.html"
