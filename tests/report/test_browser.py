"""The pages in a real browser, where there is one. One launch measures everything."""

import json

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.minutes]
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


def test_sorting_and_filter_survive_a_reload(seen):
    clicked, again = seen["clicked"], seen["again"]
    assert "#results&" in clicked["left"]
    assert {key: again[key] for key in ("after", "rows", "sort")} == {k: clicked[k] for k in ("after", "rows", "sort")}
    assert again["words"] == "margin 40% easy"


def test_a_long_table_shows_its_first_rows_until_asked(seen):
    assert seen["clicked"]["few"] == 12
    assert seen["all"] == 24


def test_claims_are_filtered_by_paper_verdict_and_words(seen):
    """A heading without claims disappears; that of the filter stays."""
    shown = [[91, 6], [11, 2], [4, 2], [1, 2]]
    assert [found[:2] for found in seen["claims"]] == shown
    assert seen["claims"][-1][2] == "1 of 91 shown"
    assert seen["claims again"] == 1


def test_a_term_explains_itself_on_focus_until_escape(seen):
    closed, opened, text, after, meaning, inside = seen["term"]
    assert (closed, opened, after, inside) == (False, True, False, True)
    assert text == meaning
    assert len(text) > 30


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


def test_every_table_fits_a_laptop(seen):
    for name, found in seen.items():
        if name.endswith(" 1280"):
            for box in found["boxes"]:
                assert box["right"] <= box["box"] + 1.5, (name, box)
