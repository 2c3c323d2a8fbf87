"""The page in a real browser, from disk: a review by keyboard, a reload, the saved CSV, and WCAG 2 A and AA."""

from types import SimpleNamespace

import chromium
import pandas as pd
import pytest

from dml import audit
from dml.audit.page import write_page

pytestmark = [pytest.mark.slow, pytest.mark.minutes]
CHECK = """axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] },
  resultTypes: ["violations"] }).then((found) => ({ checked: found.passes.length,
  problems: found.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html, v.nodes[0].failureSummary]) }))"""
SHOWN = """(() => {
  const at = (id) => document.getElementById(id), text = (id) => at(id).textContent, seen = (id) => !at(id).hidden;
  return {
    open: at("review").open, done: seen("done"), naming: seen("instead"), forgets: seen("forgets"),
    given: text("given"), path: text("path"), said: text("said"), count: text("count"), start: text("start"),
    problem: seen("problem") ? text("problem") : "", focus: document.activeElement.id, all: at("review").innerText,
  };
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory, bars):
    """The page of `bars` in a browser, with helpers."""
    folder = tmp_path_factory.mktemp("browser")
    path = folder / "page.html"
    arguments = {"title": "Bars", "vectors": bars.vectors, "paths": bars.paths, "note": "Made images."}
    write_page(path, bars.found, bars.plan, images=lambda rows: bars.images[rows], **arguments)
    with chromium.tab(folder) as tab:
        tab.size(1280)
        yield SimpleNamespace(tab=tab, folder=folder, address=path.as_uri(), bars=bars)


@pytest.fixture
def fresh(page):
    """The page without any answers."""
    page.tab.open(page.address)
    page.tab.run("localStorage.clear()")
    page.tab.open("about:blank")
    page.tab.open(page.address)
    page.tab.events.clear()
    yield page
    assert page.tab.errors() == []


def shown(tab) -> dict:
    """What the review says now."""
    return tab.run(SHOWN)


def press_start(tab) -> None:
    """Reach the button by the Tab key."""
    for _ in range(12):
        tab.keys("Tab")
        if shown(tab)["focus"] == "start":
            break
    tab.keys("Enter")


def type_label(tab, text: str) -> None:
    tab.call("Input.insertText", text=text)
    tab.keys("Enter")


def saved(page) -> pd.DataFrame:
    """Press the key that saves, and read the file as the documentation says."""
    page.tab.keys("s")
    name = page.tab.wait("Browser.downloadWillBegin")["params"]["suggestedFilename"]
    assert name == "review.csv"
    while page.tab.wait("Browser.downloadProgress")["params"]["state"] != "completed":
        pass
    path = max(page.folder.glob("review*.csv"), key=lambda file: file.stat().st_mtime_ns)
    frame = pd.read_csv(path, dtype={"index": int}, keep_default_na=False)
    path.rename(page.folder / "taken.csv")
    return frame


def load(page, text: str) -> dict:
    """Give the review a CSV file."""
    file = page.folder / "given.csv"
    file.write_text(text, encoding="utf-8")
    root = page.tab.call("DOM.getDocument")["result"]["root"]["nodeId"]
    node = page.tab.call("DOM.querySelector", nodeId=root, selector="#load")["result"]["nodeId"]
    page.tab.run(
        'document.getElementById("spoken").textContent = ""; document.getElementById("problem").textContent = ""'
    )
    page.tab.call("DOM.setFileInputFiles", files=[str(file)], nodeId=node)
    page.tab.run("""new Promise((done) => { const look = () => ["spoken", "problem"].some((id) =>
      document.getElementById(id).textContent) ? done() : setTimeout(look, 10); look(); })""")
    return shown(page.tab)


def test_a_review_by_keyboard_survives_a_reload_and_its_csv_gives_the_estimate(fresh):
    tab, plan, bars = fresh.tab, fresh.bars.plan, fresh.bars
    answers = {int(row): "wrong" if bars.wrong[row] else "right" for row in plan.rows}
    press_start(tab)
    assert shown(tab)["open"]
    for place, row in enumerate(plan.rows[:-1].tolist()):
        assert shown(tab)["path"] == bars.paths[row]
        assert shown(tab)["given"] == bars.labels[row]
        if answers[row] == "wrong":
            tab.keys("ArrowLeft" if place % 2 else "w")
            assert shown(tab)["naming"]
            type_label(tab, str(bars.found.suggested[row]))
        else:
            tab.keys("ArrowRight" if place % 2 else "r")
    last = int(plan.rows[-1])
    tab.keys("u", "Backspace")
    assert shown(tab)["said"] == "You said: unsure"
    before = shown(tab)
    tab.reload()
    after = shown(tab)
    assert {key: after[key] for key in ("open", "path", "said", "count")} == {
        key: before[key] for key in ("open", "path", "said", "count")
    }
    assert (after["count"], after["path"]) == ("20 of 20", bars.paths[last])
    answers[last] = "unsure"

    frame = saved(fresh)
    assert frame.columns.tolist() == ["index", "path", "given", "answer", "label", "audit"]
    assert frame["index"].tolist() == plan.rows.tolist()
    assert frame["path"].tolist() == [bars.paths[row] for row in plan.rows]
    assert frame["given"].tolist() == plan.given.tolist()
    assert dict(zip(frame["index"], frame["answer"], strict=True)) == answers
    wrong = frame["answer"] == "wrong"
    assert wrong.sum() >= 3
    assert frame["label"][wrong].tolist() == bars.found.suggested[frame["index"][wrong]].tolist()
    assert set(frame["label"][~wrong]) == {""}
    assert set(frame["audit"]) == {bars.found.digest}
    assert audit.estimate(plan, frame) == audit.estimate(plan, answers)


def test_a_saved_review_is_loaded_again_and_others_are_refused(fresh):
    tab, plan = fresh.tab, fresh.bars.plan
    press_start(tab)
    tab.keys("r", "u", "w", "Enter")
    frame = saved(fresh)
    text = (fresh.folder / "taken.csv").read_text(encoding="utf-8")
    tab.run("localStorage.clear()")
    tab.open("about:blank")
    tab.open(fresh.address)
    press_start(tab)
    assert shown(tab)["count"] == "0 of 20"

    other = load(fresh, text.replace(fresh.bars.found.digest, "0" * 64))
    assert "review of another audit" in other["problem"]
    edited = frame.assign(given=["other", *frame["given"][1:]]).to_csv(index=False)
    assert "it was edited" in load(fresh, edited)["problem"]
    assert "no column answer" in load(fresh, "index,given\n1,2\n")["problem"]
    maybe = frame.assign(answer="constructor").to_csv(index=False)
    assert "is not right, wrong or unsure" in load(fresh, maybe)["problem"]
    assert shown(tab)["count"] == "0 of 20"

    spreadsheet = "\ufeff" + frame.to_csv(index=False, sep=";", lineterminator="\r\n")
    taken = load(fresh, spreadsheet)
    assert (taken["count"], taken["problem"]) == ("3 of 20", "")
    assert taken["path"] == fresh.bars.paths[plan.rows[3]]
    pd.testing.assert_frame_equal(saved(fresh), frame)
    assert load(fresh, text)["count"] == "3 of 20"


@pytest.mark.parametrize(("scheme", "width"), [("light", 420), ("dark", 1280)])
def test_nothing_violates_wcag_and_nothing_is_cut(fresh, axe, scheme, width):
    tab = fresh.tab
    tab.scheme(scheme)
    tab.size(width)
    tab.run("window.scrollTo(0, 0)")
    tab.run(axe + "; true")
    states = {"page": (), "answering": None, "answered": ("u", "Backspace"), "naming": ("w",), "done": None}
    for state, keys in states.items():
        if state == "answering":
            press_start(tab)
        elif state == "done":
            tab.keys("Enter", *["u"] * 19)
            assert shown(tab)["done"]
        else:
            tab.keys(*keys)
        found = tab.run(CHECK)
        assert found["checked"] > 10
        assert not found["problems"], (state, found["problems"])
        inner = 'document.querySelector("dialog[open]") || document.documentElement'
        assert tab.run(f"(({inner}).scrollWidth <= ({inner}).clientWidth)"), state
    tab.scheme("light")
    tab.size(1280)
