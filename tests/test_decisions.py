"""The log by topic has every entry of the log once, and its links lead from the folder below."""

import importlib.util
import re
from pathlib import Path

PATH = Path(__file__).parents[1] / "docs/site/decisions.py"
_spec = importlib.util.spec_from_file_location("decisions_of_the_site", PATH)
assert _spec is not None
assert _spec.loader is not None
decisions = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(decisions)

LOG = """\
# Log

## 2026-11-21: the audit's page

See [a](benchmarks/audit.md) and [b](https://example.org).

## 2026-11-22: k-means

Text of [it](#here).

## 2026-11-22: something
<!-- topic: noise -->

More.
"""


def test_every_entry_of_the_log_is_on_one_page_of_a_topic():
    log = decisions.LOG.read_text(encoding="utf-8")
    pages = decisions.pages(log)
    headings = re.findall(r"^## (.*)$", log, flags=re.MULTILINE)
    assert all(re.match(r"\d{4}-\d\d-\d\d: ", heading) for heading in headings)
    shown = "\n".join(text for path, text in pages.items() if path != "decisions/index.md")
    assert sorted(re.findall(r"^## (.*)$", shown, flags=re.MULTILINE)) == sorted(headings)
    assert all(f"- {heading}" in pages["decisions/index.md"] for heading in headings)


def test_a_topic_is_guessed_or_said_and_the_newest_entry_comes_first():
    assert [(e.title, e.topic) for e in decisions.entries(LOG)] == [
        ("k-means", "data"),
        ("something", "noise"),
        ("the audit's page", "audit"),
    ]


def test_links_lead_from_the_folder_below():
    pages = decisions.pages(LOG)
    assert "[a](../benchmarks/audit.md) and [b](https://example.org)" in pages["decisions/audit.md"]
    assert "[it](#here)" in pages["decisions/data.md"]
