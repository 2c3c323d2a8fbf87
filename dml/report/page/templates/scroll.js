// Says which tables and figures are wider than the page. Those can be scrolled by keyboard too. The style sheet fades
// figures out at an edge behind which there is more.
document.querySelectorAll(".scroll").forEach((box) => {
  const hint = document.createElement("p"), what = box.classList.contains("figure") ? "figure" : "table";
  hint.className = "hint";
  hint.textContent = `\u2194 This ${what} is wider than the page: scroll it sideways.`;
  box.before(hint);
  const edges = () => {
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  };
  box.addEventListener("scroll", edges, { passive: true });
  const look = () => {
    const wider = box.scrollWidth > box.clientWidth + 1;
    hint.hidden = !wider;
    box.classList.toggle("overflows", wider);
    edges();
    if (what === "figure") {
      if (wider) box.setAttribute("tabindex", "0"); else box.removeAttribute("tabindex");
      if (wider) box.setAttribute("role", "region"); else box.removeAttribute("role");
      if (wider) box.setAttribute("aria-label", "Figure: " + box.dataset.label); else box.removeAttribute("aria-label");
    }
  };
  new ResizeObserver(look).observe(box);
  box.querySelectorAll("table, img").forEach((content) => new ResizeObserver(look).observe(content));
  look();
});
// Unfold everything before printing, and fold it again.
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = Array.from(document.querySelectorAll("details:not([open])"));
  unfolded.forEach((fold) => { fold.open = true; });
});
addEventListener("afterprint", () => unfolded.forEach((fold) => { fold.open = false; }));
