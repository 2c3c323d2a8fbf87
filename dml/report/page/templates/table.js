// A click on a heading sorts, the search fields filter, long tables show their first rows.
// Without scripts the pages are complete but fixed.
"use strict";
// What the reader sorted and filtered is part of the address (`#results&sort.winners=lead:ascending`), so that it survives
// a reload and can be shared. It stands in the fragment, which also works for files on disk.
const address = (() => {
  const split = () => {
    const [first, ...rest] = location.hash.slice(1).split("&");
    return first.includes("=") ? ["", [first, ...rest]] : [first, rest];
  };
  let [anchor, rest] = split();
  const values = new URLSearchParams(rest.join("&"));
  let written = null;
  const write = () => {
    const hash = [anchor, values.toString()].filter(Boolean).join("&");
    written = hash;
    try {
      history.replaceState(null, "", "#" + hash);
    } catch {  // some browsers forbid this for files on disk
      location.replace("#" + hash);
    }
  };
  addEventListener("hashchange", () => {  // a link within the page keeps what is sorted and filtered
    if (location.hash.slice(1) === written) return;
    const [next, more] = split();
    if (more.length) location.reload();
    anchor = next;
    write();
  });
  return {
    get: (name) => values.get(name) || "",
    set: (name, value) => {
      if (value) values.set(name, value); else values.delete(name);
      write();
    },
    show: () => {
      const at = anchor && values.size && document.getElementById(decodeURIComponent(anchor));
      if (at) at.scrollIntoView();
    },
  };
})();
const FIRST = 12, STEP = 50;  // rows that are shown, and how many more at a time
function words(text) { return text.toLowerCase().split(/\s+/); }
function order(row, column) { return row.cells[column].dataset.order ?? row.cells[column].textContent; }
function sortBy(table, column, direction) {
  const rows = Array.from(table.tBodies[0].rows);
  const numeric = rows.every((row) => order(row, column) === "" || isFinite(order(row, column)));
  const sign = direction === "descending" ? -1 : 1;
  rows.sort((a, b) => {
    const x = order(a, column), y = order(b, column);
    if (x === "" || y === "") return (x === "") - (y === "");  // empty values come last in both directions
    return sign * (numeric ? x - y : x.localeCompare(y, "en", { numeric: true }));
  });
  table.tBodies[0].append(...rows);
  Array.from(table.tHead.rows[0].cells).forEach((head, i) => head.setAttribute("aria-sort", i === column ? direction : "none"));
}
document.querySelectorAll("table.sortable").forEach((table) => {
  const name = table.dataset.name, heads = Array.from(table.tHead.rows[0].cells), box = table.closest(".scroll");
  const input = document.querySelector(`input.filter[data-table="${CSS.escape(name)}"]`);
  const total = table.tBodies[0].rows.length;
  let limit = address.get("rows." + name) === "all" ? total : FIRST;
  const more = document.createElement("div"), said = document.createElement("span");
  const button = (text, count) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", () => {
      limit = count();
      address.set("rows." + name, limit >= total ? "all" : "");
      show();
    });
    return made;
  };
  const further = button(`${STEP} more`, () => limit + STEP), all = button("All rows", () => total);
  const fewer = button("Fewer rows", () => FIRST);
  more.className = "more";
  said.setAttribute("role", "status");
  more.append(said, further, all, fewer);
  box.after(more);
  function show() {
    const asked = words(input ? input.value : "");
    let found = 0;
    for (const row of table.tBodies[0].rows) {
      const fits = asked.every((word) => row.textContent.toLowerCase().includes(word));
      row.hidden = !fits;
      row.classList.toggle("later", total > FIRST + 3 && found >= limit);
      found += fits;
    }
    const shown = total > FIRST + 3 ? Math.min(found, limit) : found;
    said.textContent = `${shown} of ${found} rows` + (found < total ? ` that match, ${total} in all` : "");
    more.hidden = shown === total && total <= FIRST + 3;
    further.hidden = found <= limit + STEP;
    all.hidden = shown >= found;
    fewer.hidden = limit <= FIRST || found <= FIRST;
    box.classList.toggle("tall", shown > 30);
  }
  function sort(column, direction) {
    sortBy(table, column, direction);
    show();
  }
  heads.forEach((head, column) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(...head.childNodes);
    if (head.dataset.means) {
      made.setAttribute("aria-describedby", head.dataset.means.trim());
      head.removeAttribute("title");
    }
    head.append(made);
    head.setAttribute("aria-sort", "none");
    made.addEventListener("click", () => {
      const first = head.classList.contains("num") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = head.getAttribute("aria-sort") === first ? other : first;
      sort(column, direction);
      address.set("sort." + name, `${head.dataset.key}:${direction}`);
    });
  });
  if (input) {
    input.hidden = false;
    input.value = address.get("filter." + name);
    input.addEventListener("input", () => {
      address.set("filter." + name, input.value.trim());
      show();
    });
  }
  const [, key, direction] = /^(.*):(ascending|descending)$/.exec(address.get("sort." + name)) || [];
  const column = heads.findIndex((head) => head.dataset.key === key);
  if (column >= 0) sort(column, direction); else show();
  if (column >= 0 || (input && input.value)) {
    for (let fold = box.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  }
});
// The fields above the claims hide those that do not match, and headings without claims.
document.querySelectorAll("form.claim-filter").forEach((form) => {
  const claims = Array.from(document.querySelectorAll(".claim")), names = ["paper", "verdict", "words"];
  const apply = () => {
    const asked = words(form.elements.words.value);
    const fits = (claim, field, key) => ["", claim.dataset[key]].includes(form.elements[field].value);
    for (const claim of claims) {
      const text = claim.textContent.toLowerCase();
      const matches = fits(claim, "paper", "group") && fits(claim, "verdict", "verdict");
      claim.hidden = !(matches && asked.every((word) => text.includes(word)));
    }
    for (const section of document.querySelectorAll("section:has(.claim)")) {
      section.hidden = !section.querySelector(".claim:not([hidden])");
    }
    form.querySelector("output").value = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length} shown`;
  };
  form.hidden = false;
  for (const name of names) form.elements[name].value = address.get(name);
  form.addEventListener("input", () => {
    for (const name of names) address.set(name, form.elements[name].value);
    apply();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
});
address.show();
