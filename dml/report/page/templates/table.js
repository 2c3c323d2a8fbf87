// A click on a heading sorts, the search fields filter. Without scripts the pages are complete but fixed.
"use strict";
function sortBy(table, column, direction) {
  const heads = table.tHead.rows[0].cells, body = table.tBodies[0];
  const value = (row) => row.cells[column].dataset.order;
  const rows = Array.from(body.rows);
  const numeric = rows.every((row) => value(row) === "" || isFinite(value(row)));
  const sign = direction === "descending" ? -1 : 1;
  rows.sort((a, b) => {
    const x = value(a), y = value(b);
    if (x === "" || y === "") return (x === "") - (y === "");  // empty values come last in both directions
    return sign * (numeric ? x - y : x.localeCompare(y, "en", { numeric: true }));
  });
  rows.forEach((row) => body.append(row));
  Array.from(heads).forEach((head, i) => head.setAttribute("aria-sort", i === column ? direction : "none"));
}
document.querySelectorAll("table.sortable").forEach((table) => {
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const first = head.classList.contains("num") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      sortBy(table, column, head.getAttribute("aria-sort") === first ? other : first);
    });
  });
});
document.querySelectorAll("input.filter[data-table]").forEach((input) => {
  const rows = document.getElementById(input.dataset.table).tBodies[0].rows;
  input.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
});
// The fields above the claims hide those that do not match, and headings without claims.
document.querySelectorAll("form.claim-filter").forEach((form) => {
  const claims = Array.from(document.querySelectorAll(".claim"));
  const apply = () => {
    const words = form.elements.words.value.toLowerCase().split(/\s+/);
    const fits = (claim, key) => ["", claim.dataset[key]].includes(form.elements[key].value);
    for (const claim of claims) {
      const text = claim.textContent.toLowerCase();
      claim.hidden = !(fits(claim, "group") && fits(claim, "verdict") && words.every((word) => text.includes(word)));
    }
    for (const section of document.querySelectorAll("section:has(.claim)")) {
      section.hidden = !section.querySelector(".claim:not([hidden])");
    }
    form.querySelector("output").value = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} shown`;
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
});
// A link with `#sort=<table>:<column>:<ascending|descending>` opens the page with that table sorted.
const asked = /^#sort=([\w-]+):(\d+):(ascending|descending)$/.exec(location.hash);
const chosen = asked && document.getElementById("table-" + asked[1]);
if (chosen && asked[2] < chosen.tHead.rows[0].cells.length) {
  sortBy(chosen, Number(asked[2]), asked[3]);
  chosen.scrollIntoView();
}
// Unfold everything before printing.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
