"""The tables in a real browser, where there is one."""

import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--virtual-time-budget=2000", "--dump-dom"),
]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


def _dom(page, tmp_path, fragment=""):
    """The page's HTML after its scripts have run."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path}/profile", f"{page.as_uri()}{fragment}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def _column(dom, table, column):
    body = re.search(rf'id="table-{table}".*?<tbody>(.*?)</tbody>', dom, re.S).group(1)
    rows = re.findall(r"<tr.*?</tr>", body, re.S)
    return [re.findall(r'data-order="([^"]*)"', row)[column] for row in rows]


def test_a_view_opens_sorted(site, tmp_path):
    page = site.report / "studies" / "digits.html"
    dom = _dom(page, tmp_path, "#sort=results-test-fine:4:descending")
    values = [float(value) for value in _column(dom, "results-test-fine", 4)]
    assert len(values) == 54
    assert values == sorted(values, reverse=True)
    before = [float(v) for v in _column(page.read_text(encoding="utf-8"), "results-test-fine", 4)]
    assert values != before
    assert sorted(values) == sorted(before)


def test_a_click_sorts_and_a_second_turns_it_round(site, tmp_path):
    page = site.report / "studies" / "digits.html"
    clicks = (
        "<script>const b = document.querySelectorAll('#table-results-test-fine button')[4];"
        "b.click();b.click();</script>"
    )
    clicked = page.with_name("clicked.html")
    clicked.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{clicks}</body>"), encoding="utf-8")
    dom = _dom(clicked, tmp_path)
    clicked.unlink()
    values = [float(value) for value in _column(dom, "results-test-fine", 4)]
    assert values == sorted(values)
    assert 'aria-sort="ascending"' in dom


def test_a_filter_hides_rows(site, tmp_path):
    page = site.report / "studies" / "digits.html"
    typing = (
        "<script>const i = document.querySelector('input[data-table=table-results-test-fine]');"
        "i.value = 'margin 40% easy';i.dispatchEvent(new Event('input'));</script>"
    )
    typed = page.with_name("typed.html")
    typed.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{typing}</body>"), encoding="utf-8")
    dom = _dom(typed, tmp_path)
    typed.unlink()
    body = re.search(r'id="table-results-test-fine".*?<tbody>(.*?)</tbody>', dom, re.S).group(1)
    shown = [row for row in re.findall(r"<tr.*?</tr>", body, re.S) if not row.startswith("<tr hidden")]
    assert len(shown) == 3


def test_nothing_is_wider_than_a_phone(site, tmp_path):
    page = site.report / "studies" / "digits.html"
    measure = (
        "<iframe id='phone' width='420' height='900' src='digits.html'></iframe><script>"
        "document.getElementById('phone').onload = (e) => { const d = e.target.contentDocument;"
        "document.title = d.documentElement.scrollWidth - d.documentElement.clientWidth; };</script>"
    )
    framed = page.with_name("framed.html")
    framed.write_text(f"<!DOCTYPE html><body>{measure}</body>", encoding="utf-8")
    command = [CHROMIUM, *FLAGS, "--allow-file-access-from-files", f"--user-data-dir={tmp_path}/p", framed.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    framed.unlink()
    assert "<title>0</title>" in dom
