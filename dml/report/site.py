"""The report: one static site that opens from disk. `store/report/pages` keeps pages by a digest of their inputs."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from threadpoolctl import threadpool_limits

from dml.config import Study
from dml.files import replacing, sha256
from dml.own_files import foreign, refusal, replaced
from dml.papers import paper_claims
from dml.report import figures
from dml.report.assembly import study_page
from dml.report.claims import registered, with_verdicts
from dml.report.claims_page import Proof, claims_page, proofs_of, theory_page, theory_sections
from dml.report.loading import load
from dml.report.methods import IN_SHORT, mark
from dml.report.page.assets import Assets
from dml.report.page.html import Page, Renderer
from dml.report.regimes import FILE, regimes
from dml.report.results import Results
from dml.report.sections import TheorySection
from dml.report.verdicts import Verdict
from dml.snapshots import Snapshot
from dml.snapshots import snapshots as published

AT_ONCE = 8  # processes at most: each takes 0.8 GB
MANY = 6  # studies; for fewer, starting processes (3 s) takes longer than it saves


Value = TypeVar("Value")
VALUE = "value.pickle"


def is_made(folder: Path | None, digest: str) -> bool:
    """Whether `made` has kept something made from inputs of this digest."""
    return folder is not None and (folder / digest / VALUE).is_file()


def made(folder: Path | None, digest: str, root: Path, make: Callable[[Path], Value]) -> Value:
    """What `make` returns, its files copied below `root`; both from `folder` if they are kept there."""
    if folder is None:
        return make(root)
    kept = folder / digest
    if not is_made(folder, digest):
        shutil.rmtree(folder, ignore_errors=True)
        (kept / "files").mkdir(parents=True)
        value = make(kept / "files")
        with replacing(kept / VALUE) as temporary:  # last: without it, nothing is kept
            temporary.write_bytes(pickle.dumps(value))
    shutil.copytree(kept / "files", root, dirs_exist_ok=True)
    return pickle.loads((kept / VALUE).read_bytes())


@contextmanager
def workers(studies: int) -> Iterator[Executor | None]:
    """Processes that draw the pages of so many studies, as many as there are processors; None if they would not pay.

    They are not forks, which would copy the threads' locks of the numeric libraries.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if studies < MANY or processors == 1:
        yield None
        return
    with ProcessPoolExecutor(min(processors, studies, AT_ONCE), get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)  # those that nobody has begun; the others end first
            raise


@dataclass(frozen=True)
class Job:
    """A page to make, or to find where it is kept."""

    name: str
    folder: Path | None  # of `made`
    digest: str
    results: Results | None  # None: the page is kept
    links: tuple[bool, bool] = (False, False)  # whether there are pages of claims and of theory
    here: bool = False


@dataclass(frozen=True)
class StudyPage:
    """What the index and the page of claims show of a study's page."""

    page: Page  # without its sections
    verdicts: Sequence[Verdict]
    tuning: str  # `tuning.mark`


def study_pages(pool: Executor | None, jobs: Sequence[Job], root: Path) -> list[Callable[[], StudyPage]]:
    """For each job, a call that returns its page, with the page and its files saved below `root`.

    Those of a pool are made while the caller does something else. An error in a page is raised by its call.
    """
    if pool is None:
        return [partial(_page, job, root) for job in jobs]
    longest = sorted(jobs, key=lambda job: -len(job.results.cells) if job.results else 0)
    waiting = {job.name: pool.submit(_page, job, root).result for job in longest if job.results}
    return [waiting.get(job.name, partial(_page, job, root)) for job in jobs]


def _page(job: Job, root: Path) -> StudyPage:
    return made(job.folder, job.digest, root, partial(_made, job))


def _made(job: Job, root: Path) -> StudyPage:
    results = job.results
    assert results is not None
    with prepared():
        page = replace(study_page(results, root), here=job.here)
    Renderer(root, *job.links).page(page)
    return StudyPage(replace(page, sections=[]), results.verdicts, mark(results.study))


@contextmanager
def prepared() -> Iterator[None]:
    """Figures have the report's style, and arrays, which are small, one thread: others would mostly wait for it."""
    with figures.applied(), threadpool_limits(1):
        yield


@dataclass(frozen=True)
class Source:
    """A study that is read only if its page is made again."""

    name: str
    digest: str  # of what its file says
    read: Callable[[], Study]

    @classmethod
    def of(cls, study: Study) -> Source:
        """A study that was read."""
        return cls(study.name, _digest(study.model_dump_json()), lambda: study)


def build(
    studies: Sequence[Study | Source],
    results_root: Path = Path("results"),
    store: Path = Path("store"),
    out: Path = Path("report"),
    snapshots: Path = Path("docs/results"),
    studies_folder: Path | None = None,
    progress: Callable[[int], None] | None = None,
    code: str = "",
) -> Path:
    """Write the report of some studies and return the path of its `index.html`. The same inputs give the same bytes.

    Parameters
    ----------
    results_root : contains `<study>/trials.parquet` and `<study>/summary.json`; the report says what is missing.
    store : contains `trials/<key>/embeddings.npz` of the studies that keep embeddings. Slow layouts are kept there.
    snapshots : contains those of studies that were not run here.
    studies_folder : of all studies' files. The file of the cases in the index's first table may be beside it
        (`dml.report.regimes`).
    progress : called with the number of study pages that are drawn, after each.
    code : a digest of the report's code; pages that are kept of the same code and inputs are not made again. Empty: all
        are made.
    out : its files are replaced by `index.html`, `glossary.html`, `claims.html` and `theory.html` (where there are
        claims and theory), `assets/`, `studies/<study>.html`, `figures/`, `data/` (CSV) and `plots/` (for DVC). Files
        of others stay. If an error is raised, nothing changes.
    """
    sources = {source.name: source for source in (s if isinstance(s, Source) else Source.of(s) for s in studies)}
    if len(sources) < len(studies):
        raise ValueError(f"report: two studies share a name: {', '.join(study.name for study in studies)}")
    if foreign_files := foreign(out):
        raise ValueError(refusal(foreign_files, Path.cwd()))
    here = {name for name in sources if (results_root / name / "trials.parquet").is_file()}
    names = sorted(sources, key=lambda name: name not in here)
    has_claims = bool(paper_claims() or any(source.read().compare for source in sources.values()))
    sections = theory_sections()
    links = (has_claims, bool(sections))
    folders = {name: (results_root / name, snapshots / name) for name in names}
    inputs = {}
    for name, (run, snapshot) in folders.items():
        files = [run / "trials.parquet", run / "summary.json", snapshot]
        inputs[name] = _digest(code, links, sources[name].digest, *_inputs(files))
    families = _families(names)
    digests = {name: _digest(*(inputs[other] for other in sorted(families[name]))) for name in names}
    kept = store / "report" / "pages" if code else None

    def folder(name: str) -> Path | None:
        return kept and kept / name

    shown = {snapshot.path.name for snapshot in published(snapshots)} & sources.keys() or set(names)
    cases = studies_folder and studies_folder.parent / FILE
    tables = _digest(code, *(inputs[name] for name in names if name in shown), *_inputs([cases] if cases else []))
    stale = [name for name in names if not is_made(folder(name), digests[name])]
    read = {other for name in stale for other in families[name]}
    read |= set() if is_made(folder("_index"), tables) else shown
    with replaced(out) as root, prepared(), workers(len(stale)) as pool:
        read_studies = [(sources[name].read(), *folders[name]) for name in names if name in read]
        loads = [load(study, run, store, Snapshot(snapshot)) for study, run, snapshot in read_studies]
        loaded = {results.study.name: results for results in with_verdicts(loads)}
        jobs = [Job(name, folder(name), digests[name], loaded.get(name), links, name in here) for name in names]
        waiting = study_pages(pool, jobs, root)
        write = partial(_theory, sections=sections, links=links)
        theory, proofs = made(folder("_theory"), _digest(code, links), root, write)
        overview = [results for name, results in loaded.items() if name in shown]
        blocks = made(folder("_index"), tables, root, lambda at: Assets(at, "_index").save([regimes(overview, cases)]))
        pages = []
        for page in waiting:
            pages.append(page())
            if progress is not None:
                progress(len(pages))
        renderer = Renderer(root, *links)
        renderer.shared()
        claims: Page | bool = False
        if has_claims:
            verdicts = [verdict for page in pages for verdict in page.verdicts]
            claims = claims_page(root, verdicts, proofs)
            renderer.page(claims)
        renderer = Renderer(root, claims, theory or False)
        untuned = IN_SHORT if any(page.tuning for page in pages) else ""
        renderer.index([page.page for page in pages], blocks, untuned)
    return out.resolve() / "index.html"


def _theory(root: Path, sections: Sequence[TheorySection], links: tuple[bool, bool]) -> tuple[Page | None, list[Proof]]:
    """Write the page of theory; what the index and the page of claims show of it."""
    if not sections:
        return None, []
    page = theory_page(root, sections)
    Renderer(root, *links).page(page)
    return replace(page, sections=[]), proofs_of(sections)


def _families(names: Sequence[str]) -> dict[str, set[str]]:
    """For each study, those whose claims are corrected together with its own: those of its papers, and itself."""
    papers: dict[str, set[str]] = defaultdict(set)
    for test in registered():
        papers[test.claim.paper] |= set(test.studies) & set(names)
    return {name: {name}.union(*(related for related in papers.values() if name in related)) for name in names}


def _inputs(paths: Iterable[Path]) -> list[str]:
    """Digests of files, and of those below folders that decide a page."""
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return [f"{file.name}={sha256(file)}" for file in files if file.is_file()]


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:24]
