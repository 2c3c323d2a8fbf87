// The review: one image at a time, "is this label right?".
//
// The suggestion of the audit is shown only after "wrong" was answered: who has read what the computer thinks agrees with
// it more often, and then the estimate of the noise rate measures the computer. The strata are not in the page at all.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent), looks = data.looks;
  const at = (id) => document.getElementById(id);
  const dialog = at("review"), input = at("label"), ask = at("ask");
  const WORDS = ["right", "wrong", "unsure"];
  const known = new Map(data.classes.map((name) => [name.trim().toLowerCase(), name]));
  const place = new Map(looks.map((look, i) => [look.index, i]));
  const LEAST = 360, ENLARGED = 3;  // pixels of a picture's side on the screen, and times its own
  let answers = {};  // image -> { answer, label }, or null: removed
  let current = 0, unsaved = 0, stored = true, naming = false;

  // What is kept over a reload. It is one entry for each draw of each audit.
  function recall() {
    let kept = null;
    try {
      kept = JSON.parse(localStorage.getItem(data.key));
      localStorage.setItem(data.key + "-test", "");
      localStorage.removeItem(data.key + "-test");
    } catch {
      stored = false;
    }
    answers = { ...data.earlier, ...(kept ? kept.answers : {}) };
    unsaved = kept ? kept.unsaved : 0;
    if (kept && typeof kept.ask === "boolean") ask.checked = kept.ask;
    return kept ? kept.current : -1;
  }
  function keep() {
    try {
      localStorage.setItem(data.key, JSON.stringify({ answers, current, unsaved, ask: ask.checked }));
    } catch {
      stored = false;
    }
  }
  const answerOf = (i) => (i < looks.length && answers[looks[i].index]) || null;
  const answered = () => looks.filter((_, i) => answerOf(i)).length;
  const opened = (from) => {  // the next image without an answer; the number of images: there is none
    const order = [...looks.keys()];
    const next = [...order.slice(from), ...order.slice(0, from)].find((i) => !answerOf(i));
    return next ?? looks.length;
  };

  function show() {
    const look = looks[current], answer = answerOf(current), count = answered(), end = !look;
    at("bar").value = count;
    at("count").textContent = `${count} of ${looks.length}`;
    at("stage").hidden = end;
    at("answers").hidden = end || naming;
    at("instead").hidden = !naming;
    at("done").hidden = !end;
    at("back").disabled = current === 0;
    at("next").disabled = end || opened(current + 1) === current;
    at("remove").disabled = !answer;
    at("name").disabled = !answer || answer.answer !== "wrong" || naming;
    at("save").classList.toggle("primary", end);
    for (const button of at("answers").children) {
      button.setAttribute("aria-pressed", String(Boolean(answer) && button.dataset.answer === answer.answer));
    }
    at("problem").hidden = at("problem").textContent === "";
    if (end) {
      const tally = (word) => looks.filter((_, i) => answerOf(i).answer === word).length;
      at("tally").textContent = `${tally("right")} right, ${tally("wrong")} wrong, ${tally("unsure")} unsure.`;
    } else {
      at("picture").hidden = !look.picture;
      at("nothing").hidden = Boolean(look.picture);
      if (look.picture) at("picture").src = look.picture;
      at("picture").alt = `Image ${current + 1} of ${looks.length}, to judge`;
      at("nothing").textContent = look.path || `image ${look.index}`;
      at("path").textContent = look.picture ? look.path || `image ${look.index}` : "";
      at("given").textContent = look.given;
      at("said").textContent = answer ? `You said: ${answer.answer}${answer.label ? `, it is ${answer.label}` : ""}` : "";
      const pictures = data.examples[look.given] || [];
      if (at("examples").dataset.of !== look.given) {
        at("examples").dataset.of = look.given;
        at("examples-of").textContent = `Others called ${look.given}`;
        at("examples").replaceChildren(...pictures.map((uri, i) => {
          const item = document.createElement("li"), image = document.createElement("img");
          image.src = uri;
          image.alt = `Example ${i + 1} of ${look.given}`;
          item.append(image);
          return item;
        }));
      }
      at("comparison").hidden = !pictures.length;
    }
    const left = looks.length - count;
    at("start").textContent = count === 0 ? "Begin the review" : left ? "Continue the review" : "Look at the review";
    at("start-state").textContent = count === 0 ? "" : `${count} of ${looks.length} answered` + (unsaved ? `, ${unsaved} not saved yet as CSV` : ", saved");
    at("forgets").hidden = stored;
  }
  function complain(text) {
    at("problem").textContent = text;
    at("problem").hidden = !text;
  }
  function speak(text) {
    const look = looks[current];
    at("spoken").textContent = `${text} ${look ? `Image ${current + 1} of ${looks.length}, called ${look.given}.` : "All labels are answered."}`;
  }
  function go(to, text) {
    current = Math.min(Math.max(0, to), looks.length);
    naming = false;
    keep();
    show();
    speak(text);
    if (current === looks.length) at("save").focus();
    else if (!dialog.contains(document.activeElement) || document.activeElement.closest("[hidden], #instead") || document.activeElement.disabled) at("question").focus();
  }
  function answer(word) {
    if (current >= looks.length) return;
    complain("");
    const before = answerOf(current), label = word === "wrong" && before ? before.label : "";
    answers[looks[current].index] = { answer: word, label };
    unsaved += 1;
    keep();
    if (word === "wrong" && ask.checked) name();
    else go(opened(current + 1), `${word}.`);
  }
  function remove() {
    if (!answerOf(current)) return;
    answers[looks[current].index] = null;
    unsaved += 1;
    go(current, "Answer removed.");
  }
  function name() {
    const look = looks[current], suggested = look.suggested !== look.given ? look.suggested : "";
    naming = true;
    input.value = answerOf(current).label;
    at("unknown").textContent = "";
    at("suggestion").hidden = !suggested;
    at("suggestion").textContent = `It is ${suggested}`;
    show();
    input.focus();
    at("spoken").textContent = "wrong. What is it instead?" + (suggested ? ` The audit suggests ${suggested}.` : "");
  }
  function named(text) {
    if (!answerOf(current)) return go(current, "");  // removed in another tab
    const typed = text.trim(), label = typed === "" ? "" : known.has(typed.toLowerCase()) ? known.get(typed.toLowerCase()) : null;
    const exact = data.classes.includes(typed) ? typed : label;
    if (exact === null || exact === looks[current].given) {
      at("unknown").textContent = exact === null ? `There is no class "${typed}". Leave the field empty if none fits.` : "That is the label which you found wrong.";
      input.select();
      return;
    }
    answers[looks[current].index].label = exact;
    go(opened(current + 1), `wrong${exact ? `, it is ${exact}` : ""}.`);
  }
  function save() {
    const rows = looks.filter((_, i) => answerOf(i)).map((look) => {
      const { answer, label } = answers[look.index];
      return [look.index, look.path, look.given, answer, label, data.audit];
    });
    const text = csv.write([["index", "path", "given", "answer", "label", "audit"], ...rows]);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "review.csv";
    dialog.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    unsaved = 0;
    keep();
    show();
    at("spoken").textContent = `Saved ${rows.length} answers as review.csv.`;
  }
  // A saved review. Nothing is taken in if any of it is about other data.
  function load(text) {
    const { names, rows } = csv.read(text), missing = ["index", "given", "answer"].filter((name) => !names.includes(name));
    if (missing.length) return complain(`This file is not a review: it has no column ${missing.join(", ")}.`);
    const taken = {};
    let others = 0;
    for (const row of rows) {
      const i = place.get(Number(row.index)), what = `image ${row.index}`;
      if (row.audit && row.audit !== data.audit) return complain("This is the review of another audit: its vectors or labels were others. Nothing was taken in.");
      if (i === undefined) { others += 1; continue; }
      if (row.given !== looks[i].given) return complain(`${what} is called ${looks[i].given} here and ${row.given} in the file: it was edited, or is about other data. Nothing was taken in.`);
      if (!WORDS.includes(row.answer)) return complain(`${what}: the answer ${row.answer} is not right, wrong or unsure. Nothing was taken in.`);
      taken[looks[i].index] = { answer: row.answer, label: row.answer === "wrong" ? row.label || "" : "" };
    }
    const replaced = Object.keys(taken).filter((index) => answers[index] && answers[index].answer !== taken[index].answer).length;
    Object.assign(answers, taken);
    complain("");
    go(opened(0), "");
    const parts = [`${Object.keys(taken).length} answers loaded`, replaced && `${replaced} of them replace other ones`, others && `${others} are about images that are not in this review`];
    at("said").textContent = parts.filter(Boolean).join("; ") + ".";
    at("spoken").textContent = at("said").textContent;
  }

  dialog.addEventListener("keydown", (event) => {
    const typing = event.target === input;
    if (typing && ((event.key === "Escape") || (event.key === "Backspace" && input.value === ""))) {
      event.preventDefault();  // takes "wrong" back, so that a slip costs one key
      if (!event.repeat) remove();
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.repeat) {  // a key that is held down must not answer many images
      if (event.key !== "Tab") event.preventDefault();
      return;
    }
    const keys = {
      ArrowRight: () => answer("right"), r: () => answer("right"),
      ArrowLeft: () => answer("wrong"), w: () => answer("wrong"), u: () => answer("unsure"),
      Backspace: () => go(current - 1, "Back."), n: () => go(opened(current + 1), "Next."), Delete: remove,
      c: () => !at("name").disabled && name(), s: save,
    };
    const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  at("answers").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) answer(button.dataset.answer);
  });
  at("instead").addEventListener("submit", (event) => { event.preventDefault(); named(input.value); });
  at("suggestion").addEventListener("click", () => named(looks[current].suggested));
  at("back").addEventListener("click", () => go(current - 1, "Back."));
  at("next").addEventListener("click", () => go(opened(current + 1), "Next."));
  at("remove").addEventListener("click", remove);
  at("name").addEventListener("click", name);
  at("save").addEventListener("click", save);
  at("close").addEventListener("click", () => dialog.close());
  ask.addEventListener("change", keep);
  at("load").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (file) load(await file.text());
    event.target.value = "";
  });
  dialog.addEventListener("close", () => { naming = false; address.set("review", ""); show(); at("start").focus(); });
  function open() {
    address.set("review", "open");
    dialog.showModal();
    show();
    at("question").focus();
  }
  // Very small images are not enlarged without end: blurred over the whole screen they are harder to see.
  at("picture").addEventListener("load", ({ target }) => {
    target.style.maxHeight = `${Math.max(LEAST, ENLARGED * target.naturalHeight)}px`;
  });
  at("start").addEventListener("click", open);
  at("start").disabled = false;
  addEventListener("storage", (event) => { if (event.key === data.key) { recall(); show(); } });  // another tab
  addEventListener("beforeunload", (event) => { if (!stored && unsaved) event.preventDefault(); });

  at("known").append(...data.classes.map((name) => new Option(name, name)));
  const kept = recall();
  current = kept >= 0 && kept <= looks.length ? kept : opened(0);
  show();
  if (address.get("review")) open();
})();
