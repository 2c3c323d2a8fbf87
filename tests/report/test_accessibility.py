"""WCAG 2 levels A and AA, checked by axe-core in headless Chromium, where both are installed."""

import json

import pytest

SCRIPT = """
async function check(page, window) {
  page.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  const style = page.createElement("style");  // axe-core does not measure contrast on gradients
  style.textContent = ".scroll.table { background: none !important; }";
  const axe = page.createElement("script");
  axe.textContent = AXE;
  page.head.append(style, axe);
  const found = await window.axe.run(page, { runOnly: RUN_ONLY, resultTypes: ["violations"] });
  const scheme = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const problems = found.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html, v.nodes[0].failureSummary]);
  return { scheme, problems, checked: found.passes.length };
}
async function run() { for (const href of PAGES) await open(href, href, 1280, check); }
"""
EVERYTHING = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.parametrize(("scheme", "rules"), [("light", EVERYTHING), ("dark", COLOURS)])
def test_no_page_violates_wcag(site, browse, axe, scheme, rules):
    """In dark only what depends on colours is checked again."""
    pages = [str(p.relative_to(site.report)) for p in sorted(site.report.rglob("*.html"))]
    assert {"index.html", "claims.html", "theory.html", "glossary.html", "studies/digits.html"} <= set(pages)
    script = SCRIPT.replace("PAGES", json.dumps(pages)).replace("RUN_ONLY", json.dumps(rules))
    script = script.replace("AXE", json.dumps(axe).replace("</", "<\\/"))
    found = browse(script, dark=scheme == "dark")
    assert set(found) == set(pages)
    for page, result in found.items():
        assert result["scheme"] == scheme
        assert result["checked"] > 0
        assert not result["problems"], (page, result["problems"])
