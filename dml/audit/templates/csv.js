// CSV as RFC 4180 has it: fields with separators, quotes or line breaks are in quotes.
const csv = {
  write: (rows) => {
    const field = (value) => (/[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    return rows.map((row) => row.map((value) => field(String(value))).join(",") + "\n").join("");
  },
  // The rows of a text, as objects by the names in its first row. Spreadsheets may have written semicolons.
  read: (text) => {
    const content = text.replace(/^\uFEFF/, ""), first = content.split(/\r?\n/, 1)[0];
    const separator = !first.includes(",") && first.includes(";") ? ";" : ",";
    const rows = [];
    let row = [], value = "", quoted = false;
    for (let i = 0; i < content.length; i++) {
      const c = content[i];
      if (quoted) {
        if (c !== '"') value += c;
        else if (content[i + 1] === '"') { value += c; i++; }
        else quoted = false;
      } else if (c === '"' && value === "") quoted = true;
      else if (c === separator) { row.push(value); value = ""; }
      else if (c === "\n" || c === "\r") {
        if (c === "\r" && content[i + 1] === "\n") i++;
        rows.push([...row, value]);
        row = [];
        value = "";
      } else value += c;
    }
    if (row.length || value) rows.push([...row, value]);
    const [names, ...rest] = rows.filter((fields) => fields.length > 1 || fields[0] !== "");
    return { names: names || [], rows: rest.map((fields) => Object.fromEntries((names || []).map((name, i) => [name, fields[i] ?? ""]))) };
  },
};
