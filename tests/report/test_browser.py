"""The pages in a real browser, where there is one. One launch measures everything."""

import json

import pytest

from dml.report.page.html import Renderer
from dml.report.page.pages import Page

pytestmark = pytest.mark.slow
WIDTHS = (1920, 1280, 768, 420, 400)
TABLE, COLUMN = "results-test-fine", "recall@1"
SCRIPT = """
const frames = (window) => new Promise((done) => window.setTimeout(done, 60));  // observers have run
async function edges(page, window) {
  page.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  page.querySelectorAll("img").forEach((image) => { image.loading = "eager"; });
  await frames(window);
  const boxes = Array.from(page.querySelectorAll("table, figure img")).map((content) => {
    const box = content.closest(".scroll"), style = window.getComputedStyle(box);
    const hint = box.previousElementSibling, first = content.tagName === "TABLE" && content.querySelector("td");
    return {
      what: content.id || content.getAttribute("src"),
      right: content.getBoundingClientRect().right, box: box.getBoundingClientRect().right,
      scrolls: ["auto", "scroll"].includes(style.overflowX),
      hint: hint.className === "hint" && !hint.hidden && hint.getBoundingClientRect().height > 0,
      sticky: !first || window.getComputedStyle(first).position === "sticky",
      keyboard: box.tabIndex === 0,
    };
  });
  const cut = [];
  page.querySelectorAll("td .strip").forEach((strip) => {
    const cell = strip.closest("td").getBoundingClientRect();
    for (const bar of strip.children) {
      const own = bar.getBoundingClientRect();
      if (own.width && (own.left < cell.left - 0.5 || own.right > cell.right + 0.5)) cut.push(strip.outerHTML);
    }
  });
  return { page: page.documentElement.clientWidth, content: page.documentElement.scrollWidth, boxes, cut };
}
const table = (page) => page.getElementById("table-%TABLE%");
const shown = (page) => Array.from(table(page).tBodies[0].rows).filter((row) => row.offsetParent !== null);
const heads = (page) => Array.from(table(page).tHead.rows[0].cells);
const column = (page) => heads(page).findIndex((head) => head.dataset.key === "%COLUMN%");
const orders = (page) => Array.from(table(page).tBodies[0].rows).map((row) => order(row, column(page)));
const order = (row, at) => row.cells[at].dataset.order ?? row.cells[at].textContent;
const sorting = (page) => table(page).tHead.rows[0].cells[column(page)].querySelector("button");
const type = (field, text) => {
  field.value = text;
  field.dispatchEvent(new field.ownerDocument.defaultView.Event("input", { bubbles: true }));
};
async function run() {
  for (const href of PAGES) for (const width of WIDTHS) await open(href + " " + width, href, width, edges);
  const study = "studies/digits.html";
  let left = "";
  await open("clicked", study + "#results", 1280, (page, window) => {
    const before = orders(page), few = shown(page).length;
    sorting(page).click(); sorting(page).click();
    type(page.querySelector("input[data-table=%TABLE%]"), "margin 40% easy");
    const sort = sorting(page).parentElement.getAttribute("aria-sort");
    left = window.location.href;
    return { before, few, after: orders(page), sort, rows: shown(page).length, left };
  });
  await open("again", left, 1280, (page) => ({
    after: orders(page), rows: shown(page).length, words: page.querySelector("input[data-table=%TABLE%]").value,
    sort: sorting(page).parentElement.getAttribute("aria-sort"), at: Math.round(page.documentElement.scrollTop),
  }));
  await open("reload", left, 1280, async (page, window) => {
    const frame = window.frameElement;
    await new Promise((done) => { frame.onload = done; window.location.reload(); });
    const next = frame.contentDocument;
    return [orders(next), shown(next).length, next.querySelector("input[data-table=%TABLE%]").value, next !== page];
  });
  await open("link", left, 1280, async (page, window) => {
    page.querySelector('.contents a[href="#winners"]').click();
    await frames(window);
    return window.location.hash;
  });
  await open("all", study, 1280, (page) => {
    const button = Array.from(table(page).closest(".scroll").nextElementSibling.querySelectorAll("button"));
    button.find((each) => each.textContent === "All rows").click();
    return shown(page).length;
  });
  await open("claims", "claims.html", 1280, (page, window) => {
    const form = page.querySelector("form.claim-filter"), counts = [];
    const count = () => page.querySelectorAll(".claim:not([hidden])").length;
    const headings = () => Array.from(page.querySelectorAll("main section")).filter((s) => !s.hidden).length;
    const set = (name, value) => {
      type(form.elements[name], value);
      counts.push([count(), headings(), form.querySelector("output").value]);
    };
    counts.push([count(), headings(), ""]);
    set("paper", "histogram"); set("verdict", "needs data"); set("words", "CUB second");
    left = window.location.href;
    return counts;
  });
  await open("claims again", left, 1280, (page) => page.querySelectorAll(".claim:not([hidden])").length);
  await open("term", study, 400, async (page, window) => {
    const term = page.querySelector("a.term"), tip = page.getElementById("tip");
    const open = () => tip.matches(":popover-open");
    const found = [open()];
    term.focus();
    found.push(open(), tip.textContent);
    const place = tip.getBoundingClientRect();
    page.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    const text = page.getElementById(term.getAttribute("aria-describedby")).textContent;
    return [...found, open(), text, place.left >= 0 && place.right <= 400];
  });
  await open("faded", study, 420, async (page, window) => {
    await frames(window);
    const box = page.querySelector(".scroll.figure.overflows");
    const sides = () => ["more-left", "more-right"].map((name) => box.classList.contains(name));
    const found = [sides(), window.getComputedStyle(box).maskImage.split("rgba(0, 0, 0, 0)").length];
    box.scrollLeft = box.scrollWidth;
    box.dispatchEvent(new window.Event("scroll"));  // a page that is not painted sends none
    await frames(window);
    return [...found, sides()];
  });
  await open("heading", study, 1280, (page) => {  // what the Tab key reaches explains itself too
    const button = table(page).querySelector("thead button[aria-describedby]"), tip = page.getElementById("tip");
    const texts = button.getAttribute("aria-describedby").split(" ").map((id) => page.getElementById(id).textContent);
    button.focus();
    return [button.tabIndex, page.activeElement === button, tip.matches(":popover-open"), tip.textContent, texts];
  });
  await open("unfocused", study, 1280, async (page, window) => {
    const [first, second] = page.querySelectorAll("a.term"), tip = page.getElementById("tip");
    const named = (term) => page.getElementById(term.getAttribute("aria-describedby")).textContent;
    first.focus(); second.focus();
    const moved = tip.textContent === named(second);
    second.blur();
    await new Promise((done) => window.setTimeout(done, 400));
    return [moved, tip.matches(":popover-open"), first.tabIndex, first.getAttribute("href")];
  });
}
"""


@pytest.fixture(scope="module")
def seen(site, browse):
    """What a browser measures on every page of the site."""
    pages = [str(p.relative_to(site.report)) for p in sorted(site.report.rglob("*.html"))]
    script = SCRIPT.replace("%TABLE%", TABLE).replace("%COLUMN%", COLUMN)
    return browse(script.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS)))


def test_a_second_click_reverses_the_order(seen):
    before, after = ([float(value) for value in seen["clicked"][key]] for key in ("before", "after"))
    assert after == sorted(before)
    assert after != before
    assert seen["clicked"]["sort"] == "ascending"


def test_a_filter_hides_rows(seen):
    assert seen["clicked"]["rows"] == 2


def test_sorting_and_filter_survive_a_reload(seen):
    clicked, again = seen["clicked"], seen["again"]
    assert "#results&" in clicked["left"]
    assert {key: again[key] for key in ("after", "rows", "sort")} == {k: clicked[k] for k in ("after", "rows", "sort")}
    assert again["words"] == "margin 40% easy"


def test_sorting_and_filter_survive_a_reload_of_the_same_page(seen):
    """Of a page on disk: the harness opens every page by a `file:` address."""
    clicked, (after, rows, typed, is_new) = seen["clicked"], seen["reload"]
    assert clicked["left"].startswith("file:")
    assert is_new
    assert (after, rows, typed) == (clicked["after"], clicked["rows"], "margin 40% easy")


def test_a_link_within_the_page_keeps_the_filter(seen):
    assert seen["link"].startswith("#winners&sort.")
    assert "filter." in seen["link"]


def test_a_long_table_shows_its_first_rows_until_asked(seen):
    assert seen["clicked"]["few"] == 12
    assert seen["all"] == 24


def test_claims_are_filtered_by_paper_verdict_and_words(seen):
    """A heading without claims disappears; that of the filter stays."""
    shown = [[91, 6], [11, 2], [4, 2], [1, 2]]
    assert [found[:2] for found in seen["claims"]] == shown
    assert seen["claims"][-1][2] == "1 of 91 shown"
    assert seen["claims again"] == 1


def test_a_figure_that_is_too_wide_fades_out_where_there_is_more(seen):
    at_the_left, parts, at_the_right = seen["faded"]
    assert (at_the_left, parts, at_the_right) == ([False, True], 2, [True, False])


def test_a_term_explains_itself_on_focus_until_escape(seen):
    closed, opened, text, after, meaning, inside = seen["term"]
    assert (closed, opened, after, inside) == (False, True, False, True)
    assert text == meaning
    assert len(text) > 30


def test_a_heading_explains_itself_on_focus(seen):
    place, focused, opened, text, meanings = seen["heading"]
    assert (place, focused, opened) == (0, True, True)
    assert text == "\n".join(meanings)
    assert len(text) > 20


def test_the_explanation_follows_the_focus_and_closes(seen):
    moved, opened, place, href = seen["unfocused"]
    assert (moved, opened, place) == (True, False, 0)
    assert "glossary.html#" in href


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(seen, width):
    measured = {key: found for key, found in seen.items() if key.endswith(f" {width}")}
    assert len(measured) == 7
    for name, found in measured.items():
        assert found["page"] <= width
        assert found["content"] <= found["page"], name


@pytest.mark.parametrize("width", WIDTHS)
def test_no_table_and_no_figure_is_cut_at_the_edge(seen, width):
    """It fits, or its box scrolls, by keyboard too, and says so; a table's first column then stays."""
    measured = {name: found for name, found in seen.items() if name.endswith(f" {width}")}
    boxes = [(name, found["page"], box) for name, found in measured.items() for box in found["boxes"]]
    assert len(boxes) > 30
    for name, page, box in boxes:
        assert box["box"] <= page, (name, box)
        if box["right"] > box["box"] + 1.5:
            assert all(box[key] for key in ("scrolls", "hint", "sticky", "keyboard")), (name, box)
        else:
            assert not box["hint"], (name, box)


def test_no_interval_bar_is_cut_by_its_cell(seen):
    assert not [found["cut"] for name, found in seen.items() if name.endswith(WIDTH_ENDS) and found["cut"]]


def test_every_table_fits_a_laptop(seen):
    for name, found in seen.items():
        if name.endswith(" 1280"):
            for box in found["boxes"]:
                assert box["right"] <= box["box"] + 1.5, (name, box)


def test_the_list_of_studies_fits_a_phone(browse, tmp_path):
    best = [("40% noise", "multi_similarity(alpha=2), semihard + distance_weighted", "R@1 74.3")]
    facts = [("Data", "joint-flowers-of-a-long-name", "51 classes")]
    title = "Losses, positives and negatives on fine-grained images"
    *pages, theory = (Page(f"study-{n}", "page.html", "", title, (), (), facts=facts, best=best) for n in range(5))
    Renderer(tmp_path, theory, theory).index(pages)
    measure = """(page, window) => ({
      page: page.documentElement.clientWidth,
      ends: Array.from(page.querySelectorAll("#study-list td"), (cell) => cell.getBoundingClientRect().right),
      hint: Array.from(page.querySelectorAll(".hint"), (hint) => hint.hidden),
    })"""
    address = json.dumps((tmp_path / "index.html").as_uri())
    found = browse(f'async function run() {{ await open("index", {address}, 390, {measure}); }}')["index"]
    assert len(found["ends"]) == 12
    assert max(found["ends"]) <= found["page"] <= 390
    assert found["hint"] == [True]


WIDTH_ENDS = tuple(f" {width}" for width in WIDTHS)
