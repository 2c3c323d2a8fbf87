// The suspects: filtered by class, ordered, a page at a time. Without scripts all of them are shown.
(() => {
  const PAGE = 12;
  const list = document.getElementById("cards"), form = document.getElementById("filter"), bar = document.getElementById("pages");
  if (!list) return;
  const cards = Array.from(list.children), names = ["given", "suggested", "order"];  // in order of suspicion
  const fields = form.elements;
  let page = Math.max(1, Number(address.get("page")) || 1);
  const make = (text, step) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => {
      page += step;
      show();
      document.getElementById("suspects").scrollIntoView();
      if (button.disabled) (button === before ? after : before).focus();
    });
    return button;
  };
  const before = make("Previous", -1), after = make("Next", 1), said = document.createElement("span");
  said.setAttribute("role", "status");
  bar.append(before, said, after);
  function show() {
    const fits = (card, key) => !fields[key].value || card.dataset[key] === fields[key].value;
    const found = cards.filter((card) => fits(card, "given") && fits(card, "suggested"));
    const by = fields.order.value;
    if (by) found.sort((a, b) => a.dataset[by].localeCompare(b.dataset[by], "en", { numeric: true }));  // stable
    const last = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(1, page), last);
    const visible = new Set(found.slice((page - 1) * PAGE, page * PAGE));
    list.append(...found);
    for (const card of cards) card.hidden = !visible.has(card);
    form.querySelector("output").value = found.length < cards.length ? `${found.length} of ${cards.length} match` : "";
    said.textContent = `Page ${page} of ${last}`;
    before.disabled = page === 1;
    after.disabled = page === last;
    bar.hidden = last === 1;
    address.set("page", page > 1 ? String(page) : "");
  }
  form.hidden = false;
  for (const name of names) {
    fields[name].value = address.get(name);
    if (fields[name].selectedIndex < 0) fields[name].value = "";
  }
  form.addEventListener("input", () => {
    for (const name of names) address.set(name, fields[name].value);
    page = 1;
    show();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
})();
