"""Stage `audit`: find labels that are probably wrong. A study passes if it has no section `audit` and nobody asked."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dml.files import locked
from dml.own_files import check, replaced
from dml.pipeline.folders import AUDIT, AUDITS, STORE, data_root, write_json
from dml.pipeline.syncing import tracks

if TYPE_CHECKING:
    from dml.config import Study

AFTER = "Save your answers. This command says how many labels are wrong, and writes labels to train with:"

# Most studies pass, and need not wait seconds for imports: functions import what they need.


def skipped(study: str) -> bool:
    """Whether neither the study nor a person asks for an audit; then its output is written."""
    data = Path("data", study)
    if not (data / "study.yaml").is_file() or (AUDITS / study / "request.json").is_file():
        return False
    if yaml.safe_load((data / "study.yaml").read_text(encoding="utf-8")).get("audit") is not None:
        return False
    write_json(data / "audit.json", {})
    return True


def run(study: Study) -> None:
    lock = STORE / "audits" / f"{study.name}.lock"
    with locked(lock, on_wait=lambda: print(f"audit {study.name}: waiting for another process")):
        write_json(data_root(study) / "audit.json", audited(study))


def audited(study: Study) -> dict[str, Any]:
    """Audit a study and write `audit/<study>`; its summary."""
    from dml.audit import outputs
    from dml.audit.page import write_page
    from dml.audit.study import run_audit
    from dml.sweep.inputs.checking import data_notes

    folder = AUDIT / study.name
    check(Path(), folders=[str(folder)])
    if study.audit is not None and study.audit.trained:
        from dml.pipeline import features

        features.run(study)  # networks of other folds train on them; the features that are audited are found alone
    done = run_audit(study, data_root(study), STORE, AUDITS / study.name)
    content, notes = outputs.summary(study.name, done), [done.note] * bool(done.note)
    with suppress(ValueError):  # labels can be audited that cannot be split
        notes += (data := data_notes(study, done.images.dataset, data_root(study)))
        content |= {"data": data} if data else {}
    trains = outputs.trains(study, done.images)
    with replaced(folder) as fresh:
        outputs.write_tables(fresh, done)
        outputs.write_csvs(fresh / "labels", outputs.label_tables(done, trains))
        write_page(
            fresh / "index.html",
            done.audit,
            done.plan,
            title=study.title,
            vectors=done.vectors,
            folds=done.folds,
            images=None if study.dataset(done.images.dataset).passes_on else done.images.images,
            paths=done.images.paths,
            review=None if done.review is None else done.review.answers,
            note=". ".join(notes),
            commands=[(AFTER, f"dml audit {study.name} --review review.csv")],
        )
        write_json(fresh / "summary.json", content)
    if tracks():
        from dml.report.runs import audits
        from dml.tracking import Picture
        from dml.tracking.sync import sync

        problem = sync(Picture(study.name, audits(folder, study.name)))
        notes += [f"it is not in MLflow: {problem}"] * bool(problem)
    print(f"{folder / 'index.html'}: {content['suspects']} suspects among {content['images']} labels")
    for note in notes:
        print(f"audit: {note}", file=sys.stderr)
    return content
