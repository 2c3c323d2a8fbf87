// What a term or a heading means: on hover, on focus, and on the first tap. Escape closes it.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.id = "tip";
  tip.popover = "manual";  // above everything, never cut by a box that scrolls
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  let owner = null, leaving = 0, touched = false;
  const ownerOf = (target) => target.closest?.("a.term, thead button[aria-describedby]");
  const hide = () => {
    if (owner) tip.hidePopover();
    owner = null;
  };
  const show = (next) => {
    clearTimeout(leaving);
    if (next === owner) return;
    hide();
    const parts = next.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id));
    tip.textContent = parts.filter(Boolean).map((part) => part.textContent).join("\n");
    owner = next;
    tip.showPopover();
    const at = next.getBoundingClientRect(), size = tip.getBoundingClientRect(), gap = 6;
    const below = at.bottom + gap + size.height <= innerHeight;
    tip.style.top = `${Math.max(gap, below ? at.bottom + gap : at.top - gap - size.height)}px`;
    tip.style.left = `${Math.max(gap, Math.min(at.left, document.documentElement.clientWidth - size.width - gap))}px`;
  };
  const leave = () => { leaving = setTimeout(hide, 200); };  // time to move onto the text itself
  addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
    if (!ownerOf(event.target) && event.target !== tip) hide();
  });
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const found = ownerOf(event.target);
    if (found) show(found); else if (event.target === tip) clearTimeout(leaving); else if (owner) leave();
  });
  document.addEventListener("focusin", (event) => {
    const found = ownerOf(event.target);
    if (found && !touched) show(found);
  });
  document.addEventListener("focusout", () => { if (owner) leave(); });
  document.addEventListener("click", (event) => {  // the first tap explains, the second opens the glossary
    const found = touched && event.target.closest?.("a.term");
    if (found && owner !== found) {
      event.preventDefault();
      show(found);
    }
  });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("scroll", hide, { passive: true });
})();
