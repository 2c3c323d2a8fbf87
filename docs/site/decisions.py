"""The log by topic: pages made of docs/LOG.md, which stays the one place where an entry is written.

An entry's topic is the first whose words its heading has. `<!-- topic: audit -->` below the heading says another.
"""

import re
from pathlib import Path
from typing import NamedTuple

LOG = Path(__file__).parents[1] / "LOG.md"
TOPICS = {
    "audit": ("Finding wrong labels", r"audit(?!ed)|wrong labels \("),
    "claims": ("The papers and their claims", r"papers?\b|prove|claim|eps|loop|histogram|table 1|published results"),
    "speed": (
        "Speed and memory",
        r"speed|memory|losses, before|in less|under \d+ s|cost|scale|the report's size",
    ),
    "judging": (
        "Tuning and judging",
        r"tun|winner|interval|flag|tell apart|withdrawn|confirms|splits?\b|rank|power|halving|oracle|search space",
    ),
    "noise": ("Label noise and filters", r"noise|filter|prism|wrong labels|joint stud|rule of thumb|collapse|curves"),
    "training": (
        "Networks and training",
        r"network|frozen|blocks|weights|features|training|protocols|gpu|workers|process",
    ),
    "data": ("Data and evaluation", r"data\b|study that|evaluat|k-means|images?|folder|libraries|studies"),
    "report": ("The report", r"report|page|titles|runs that compare"),
    "engine": (
        "The pipeline and the package",
        r"design|faults|command|mlflow|dvc|models?|package|not run|install|stor|store|cluster|ray|keys|docs|settings",
    ),
    "other": ("Other", r""),
}


class Entry(NamedTuple):
    """A dated entry of the log."""

    date: str
    title: str
    text: str
    topic: str


def entries(log: str) -> list[Entry]:
    """The entries, newest first; those of one day in the log's order."""
    found = []
    for date, title, text in re.findall(r"^## (\d{4}-\d\d-\d\d): ([^\n]*)\n(.*?)(?=^## |\Z)", log, re.M | re.S):
        said = re.search(r"<!-- topic: (\w+) -->", text)
        guessed = next(topic for topic, (_, words) in TOPICS.items() if re.search(rf"\b(?:{words})", title.lower()))
        found.append(Entry(date, title, text.strip(), said[1] if said else guessed))
    return sorted(found, key=lambda entry: entry.date, reverse=True)


def pages(log: str) -> dict[str, str]:
    """The Markdown of each page, by its path in docs: an index, and one for each topic."""
    all_ = entries(log)
    index = ["# Decisions and findings, by topic", "", "Dated entries, negative results included.", ""]
    found = {}
    for topic, (name, _) in TOPICS.items():
        own = [entry for entry in all_ if entry.topic == topic]
        index += [f"## [{name}]({topic}.md)", "", *(f"- {e.date}: {e.title}" for e in own), ""]
        text = [f"## {entry.date}: {entry.title}\n\n{_linked(entry.text)}\n" for entry in own]
        found[f"decisions/{topic}.md"] = "\n".join([f"# {name}\n", *(text or ["No entry.\n"])])
    return {"decisions/index.md": "\n".join([*index, "[The log by date](../LOG.md)", ""]), **found}


def _linked(text: str) -> str:
    """Links as they are from the folder below."""
    return re.sub(r"\]\((?!https?:|#)", "](../", text)
