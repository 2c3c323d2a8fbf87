"""What `make lint` asks of documents: the licence, the citation, the changelog, links, forms, and the ends of files."""

import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"  # as apache.org publishes it
TEXT = {".py", ".pyi", ".md", ".yaml", ".yml", ".toml", ".cff", ".txt", ".css", ".js", ".html"}
FIELDS = {"textarea", "input", "checkboxes", "dropdown", "markdown"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def problems() -> Iterator[str]:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    if hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() != APACHE_2 or project["license"] != "Apache-2.0":
        yield "LICENSE, pyproject.toml: expected the whole of Apache-2.0"
    cited = yaml.safe_load(text_of("CITATION.cff"))
    if (cited["version"], cited["license"]) != (project["version"], project["license"]):
        yield "CITATION.cff: expected the version and the licence of pyproject.toml"
    studies = " ".join(text_of("docs/studies-of-the-papers.md").lower().split())
    for paper in cited["references"]:
        for words in (paper["title"], *(author["family-names"] for author in paper["authors"])):
            if words.lower() not in studies:
                yield f"CITATION.cff: {words} is not in docs/studies-of-the-papers.md"
    if re.findall(r"^## \[(.*?)\]", text_of("CHANGELOG.md"), flags=re.MULTILINE)[0] != project["version"]:
        yield f"CHANGELOG.md: expected to begin with {project['version']}"
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yaml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        kinds = {field["type"] for field in form["body"] if field["attributes"]["label"]}
        if not (form["name"] and form["description"] and kinds and kinds <= FIELDS):
            yield f"{path.name}: expected a name, a description and fields with labels"


def of_the_readme() -> Iterator[str]:
    """It fits on a screen, and its commands and those of the continuous integration exist."""
    readme, workflow = text_of("README.md"), text_of(".github/workflows/ci.yaml")
    if len(readme.split()) > 520 or "\n|" in readme:
        yield "README.md: expected at most 520 words and no table"
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE))
    named = re.findall(r"(?:`|^)make ([a-z-]+)", readme, flags=re.MULTILINE)
    named += re.findall(r"\bmake ([a-z-]+)", workflow)
    for name in sorted({*named} - targets):
        yield f"make {name}: no such target"


def of_files() -> Iterator[str]:
    """Links lead somewhere; no spaces at the end of a line, one newline at the end of a file."""
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if not link.startswith("http") and not (path.parent / link).exists():
                yield f"{path.relative_to(ROOT)}: {link} does not exist"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.suffix not in TEXT or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            yield f"{name}: expected one newline at the end"
        if re.search(r"[ \t]\n", text):
            yield f"{name}: spaces at the end of a line"


if __name__ == "__main__":
    sys.exit("\n".join([*problems(), *of_the_readme(), *of_files()]) or None)
