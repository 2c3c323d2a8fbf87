"""The pages in a real browser, where there is one. One launch measures everything."""

import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--allow-file-access-from-files"),
    *("--virtual-time-budget=20000", "--dump-dom"),
]
WIDTHS = (1280, 400)
TABLE = "results-test-fine"
COLUMN = 4
HARNESS = """<!DOCTYPE html><body><script>
const seen = {};
function open(name, href, width, look) {
  return new Promise((done) => {
    const frame = document.createElement("iframe");
    frame.width = width; frame.height = 900; frame.src = href;
    frame.onload = () => {
      const page = frame.contentDocument;
      seen[name] = look(page, frame.contentWindow);
      frame.remove();
      done();
    };
    document.body.append(frame);
  });
}
function edges(page, window) {
  page.querySelectorAll("details").forEach((d) => { d.open = true; });
  const tables = Array.from(page.querySelectorAll("table")).map((table) => {
    const wrapper = table.closest(".scroll"), style = window.getComputedStyle(wrapper);
    return {
      id: table.id, right: table.getBoundingClientRect().right, wrapper: wrapper.getBoundingClientRect().right,
      scrolls: ["auto", "scroll"].includes(style.overflowX), cue: style.backgroundImage !== "none",
    };
  });
  return { page: page.documentElement.clientWidth, content: page.documentElement.scrollWidth, tables };
}
const rows = (page) => Array.from(page.getElementById("table-TABLE").tBodies[0].rows);
const orders = (page) => rows(page).map((row) => row.cells[COLUMN].dataset.order);
const button = (page) => page.querySelectorAll("#table-TABLE button")[COLUMN];
async function run() {
  for (const href of PAGES) for (const width of WIDTHS) await open(href + " " + width, href, width, edges);
  await open("linked", "studies/digits.html#sort=TABLE:COLUMN:descending", 1280, orders);
  await open("clicked", "studies/digits.html", 1280, (page) => {
    const before = orders(page);
    button(page).click(); button(page).click();
    return { before, after: orders(page), sort: button(page).parentElement.getAttribute("aria-sort") };
  });
  await open("filtered", "studies/digits.html", 1280, (page) => {
    const input = page.querySelector("input[data-table=table-TABLE]");
    input.value = "margin 40% easy";
    input.dispatchEvent(new page.defaultView.Event("input"));
    return rows(page).filter((row) => !row.hidden).length;
  });
  await open("claims", "claims.html", 1280, (page) => {
    const form = page.querySelector("form.claim-filter"), counts = [];
    const shown = () => page.querySelectorAll(".claim:not([hidden])").length;
    const headings = () => Array.from(page.querySelectorAll("main section")).filter((s) => !s.hidden).length;
    const set = (name, value) => {
      form.elements[name].value = value;
      form.dispatchEvent(new page.defaultView.Event("input"));
      counts.push([shown(), headings(), form.querySelector("output").value]);
    };
    counts.push([shown(), headings(), ""]);
    set("group", "histogram"); set("verdict", "needs data"); set("words", "CUB second");
    return counts;
  });
  document.body.innerHTML = "";
  document.body.append(JSON.stringify(seen));
}
run();
</script></body>"""
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")


@pytest.fixture(scope="module")
def seen(site, tmp_path_factory):
    """What a browser measures on every page of the site."""
    pages = [str(p.relative_to(site.report)) for p in sorted(site.report.rglob("*.html"))]
    harness = HARNESS.replace("TABLE", TABLE).replace("COLUMN", str(COLUMN))
    harness = harness.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    path = site.report / "harness.html"
    path.write_text(harness, encoding="utf-8")
    profile = tmp_path_factory.mktemp("profile")
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", path.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    path.unlink()
    found = re.search(r"<body>(\{.*\})</body>", dom, re.S)
    assert found, dom[-2000:]
    return json.loads(found[1])


def test_a_link_opens_a_sorted_table(seen):
    values = [float(value) for value in seen["linked"]]
    assert len(values) == 24
    assert values == sorted(values, reverse=True)


def test_a_second_click_reverses_the_order(seen):
    before, after = ([float(value) for value in seen["clicked"][key]] for key in ("before", "after"))
    assert after == sorted(before)
    assert after != before
    assert seen["clicked"]["sort"] == "ascending"


def test_a_filter_hides_rows(seen):
    assert seen["filtered"] == 2


def test_claims_are_filtered_by_paper_verdict_and_words(seen):
    """A heading without claims disappears; that of the filter stays."""
    shown = [[90, 5], [11, 2], [4, 2], [1, 2]]
    assert [found[:2] for found in seen["claims"]] == shown
    assert seen["claims"][-1][2] == "1 of 90 shown"


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(seen, width):
    measured = {key: found for key, found in seen.items() if key.endswith(f" {width}")}
    assert len(measured) == 6
    for name, found in measured.items():
        assert found["page"] <= width
        assert found["content"] <= found["page"], name


@pytest.mark.parametrize("width", WIDTHS)
def test_no_table_is_cut_at_the_edge(seen, width):
    """A table fits, or its wrapper scrolls and shows that it does."""
    measured = {name: found for name, found in seen.items() if name.endswith(f" {width}")}
    tables = [(name, found["page"], table) for name, found in measured.items() for table in found["tables"]]
    assert len(tables) > 10
    for name, page, table in tables:
        assert table["wrapper"] <= page, (name, table)
        fits = table["right"] <= table["wrapper"] + 0.5
        assert fits or (table["scrolls"] and table["cue"]), (name, table)


def test_every_table_fits_a_laptop(seen):
    for name, found in seen.items():
        if name.endswith(" 1280"):
            for table in found["tables"]:
                assert table["right"] <= table["wrapper"] + 0.5, (name, table)
