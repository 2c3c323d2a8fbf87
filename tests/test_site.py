"""The site of `make docs`: it builds without a warning, every link leads somewhere, and browsers get it from here."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
pytestmark = [pytest.mark.slow, pytest.mark.minutes]


class Page(HTMLParser):
    """The links, the ids, and the addresses that a browser loads by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        navigation = tag == "link" and found.get("rel") in ("canonical", "next", "prev")
        for element, name in LOADED:
            if tag == element and found.get(name) and not navigation:
                self.loaded.append(found[name])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site, and its pages by their paths in it."""
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [
        path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] != "report"
    ]  # has its own tests
    pages = {path.relative_to(folder): Page(path.read_text(encoding="utf-8")) for path in found}
    return folder, pages


def test_every_page_is_in_the_navigation(site):
    _, pages = site
    docs = ROOT / "docs"
    written = {path.relative_to(docs).with_suffix(".html") for path in docs.rglob("*.md")}
    named = {path.with_name("index.html") if path.name == "README.html" else path for path in written}
    assert named <= set(pages)
    menu = {unquote(urlsplit(link).path) for link in pages[Path("index.html")].links}
    assert {str(path) for path in named} <= menu


def test_no_link_is_dead(site):
    folder, pages = site
    checked = 0
    for name, page in pages.items():
        if name.name == "404.html":  # served at any depth, so its links are from the root
            continue
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (folder / name).parent.joinpath(unquote(parts.path)).resolve() if parts.path else folder / name
            assert target.is_file(), f"{name}: {link}"
            found = pages.get(target.relative_to(folder.resolve()) if parts.path else name)
            if parts.fragment and found is not None:
                assert unquote(parts.fragment) in found.ids | {"__skip"}, f"{name}: {link}"
            checked += 1
    assert checked > 1000


def test_nothing_is_loaded_from_another_host(site):
    folder, pages = site
    for name, page in pages.items():
        assert not [address for address in page.loaded if re.match(r"(https?:)?//", address)], name
    for path in folder.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), path


def test_the_interface_is_described_by_its_docstrings(site):
    folder, _ = site
    text = (folder / "api/losses.html").read_text(encoding="utf-8")
    assert "A positive nearer than a negative by a margin" in text
    assert 'id="dml.losses.triplet.Triplet"' in text


def test_the_gallery_has_a_figure_of_each_published_study(site):
    _, pages = site
    shown = {Path(address).stem for address in pages[Path("gallery.html")].loaded if "figures/results" in address}
    drawn = {path.stem for path in (ROOT / "docs/figures/results").glob("*.png")}
    assert shown == drawn
