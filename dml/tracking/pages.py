"""The report's page of a study as an artifact of its run."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
from pathlib import Path
from urllib.parse import unquote

from dml.tracking.tracker import ENVIRONMENT
from dml.tracking.view import default_uri, is_missing

FOLDER = "report"


def log_page(study: str, page: Path, uri: str | None = None) -> str:
    """Log a study's page in its run, with its figures inside, so that MLflow's UI shows it.

    Never raises: a report is complete without MLflow.

    Parameters
    ----------
    study : its name.
    page : the HTML file, whose figures it names by relative paths.
    uri : MLflow's backend; None: `MLFLOW_TRACKING_URI`, or SQLite in the working directory.

    Returns
    -------
    Why the page is not in MLflow; empty if it is, or if MLflow has no run of this study.
    """
    uri = uri or default_uri()
    if is_missing(uri):
        return ""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import mlflow  # takes seconds, and reads the variables above

    from dml.tracking.finding import find_study
    from dml.tracking.sending import quiet

    try:
        found = find_study(study, uri)
    except ValueError:
        return ""
    except Exception as error:
        return f"MLflow at {uri}: {_first_line(error)}"
    try:
        with quiet():
            client = mlflow.MlflowClient(tracking_uri=uri)
            client.log_text(found.run.info.run_id, self_contained(page), f"{FOLDER}/{page.name}")
    except Exception as error:
        return f"MLflow at {uri}: {_first_line(error)}"
    return ""


def self_contained(page: Path) -> str:
    """The page with its images, styles and scripts inside, and without its links to other files of the report."""
    text = page.read_text(encoding="utf-8")
    linked = r'(\bsrc|\bsrcset|<link rel="stylesheet" href)="([^"]+)"'
    text = re.sub(linked, lambda match: _inlined(page, match), text)
    return re.sub(r'(<a\b[^>]*?)\s+href="(?!#|[a-z]+:)[^"]*"', r"\1", text)


def _inlined(page: Path, match: re.Match[str]) -> str:
    path = page.parent / unquote(match[2])
    if re.match(r"[a-z]+:", match[2]) or not path.is_file():
        return match[0]
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f'{match[1]}="data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"'


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
