"use strict";
const root = document.documentElement;
root.classList.add("scripted");

// A page opened from a file may not be allowed to store anything.
const memory = {
  get: () => { try { return localStorage.getItem("scant-theme"); } catch { return null; } },
  set: (value) => { try { localStorage.setItem("scant-theme", value); } catch { /* kept until the page is closed */ } },
};
if (["light", "dark"].includes(memory.get())) root.dataset.theme = memory.get();

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function theme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    memory.set(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}

// Tables. A claim is a tbody of its own, with its data in a second row.

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const units = () => [...(table.matches(".claims") ? table.tBodies : table.tBodies[0].rows)];
  const cell = (unit, column) => (unit.rows ? unit.rows[0] : unit).cells[column];
  const value = (unit, column) => cell(unit, column).dataset.value ?? (cell(unit, column).title || cell(unit, column).textContent.trim());
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const numeric = head.dataset.kind === "number";
      const compare = (a, b) => (numeric ? a - b : a.localeCompare(b, "en", { numeric: true }));
      const number = (text) => parseFloat(text.replaceAll(",", ""));
      const keyed = units().map((unit) => [unit, numeric ? number(value(unit, column)) : value(unit, column)]);
      const absent = (key) => key === "" || key === "–" || Number.isNaN(key);
      keyed.sort(([, a], [, b]) => absent(a) - absent(b) || (absent(a) ? 0 : direction * compare(a, b)));
      const parent = keyed[0]?.[0].parentNode;
      parent?.append(...keyed.map(([unit]) => unit));
    });
  });
}

// A table that is wider than its box becomes a list of blocks, in which each number has its column's name.

function fitting(table) {
  const names = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  [...table.tBodies].flatMap((body) => [...body.rows]).forEach((row) => {
    [...row.cells].forEach((cell, column) => { cell.dataset.label = names[column] ?? ""; });
  });
  const box = table.parentNode;
  let width = 0;
  const fit = () => {
    if (box.clientWidth === width || !box.clientWidth) return;  // as it was, or in a closed part of the page
    width = box.clientWidth;
    table.classList.remove("cards");
    table.classList.toggle("cards", box.scrollWidth > width + 1);
  };
  new ResizeObserver(() => requestAnimationFrame(fit)).observe(box);
}

function printing() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open]):is(#words, #datasets, #cite, #rerun, .held)");
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
}

function open(claim, wanted) {
  claim.querySelector(".more").setAttribute("aria-expanded", wanted);
  claim.querySelector(".detail").classList.toggle("open", wanted);
}

function claims(tables, form) {
  const bodies = tables.flatMap((table) => [...table.tBodies]);
  const texts = new Map(bodies.map((claim) => [claim, claim.textContent.toLowerCase()]));
  const filter = () => {
    const words = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = ["verdict", "kind", "family", "source"].filter((name) => form[name].value);
    for (const claim of bodies) {
      claim.hidden = !(chosen.every((name) => claim.dataset[name] === form[name].value)
        && words.every((word) => texts.get(claim).includes(word)));
    }
    const found = bodies.filter((claim) => !claim.hidden);
    if (chosen.length || words.length) found.forEach(reveal);
    form.querySelector("output").textContent = `${found.length} of ${bodies.length} claims`;
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  tables.forEach((table) => table.addEventListener("click", (event) => {
    const button = event.target.closest(".more");
    if (button) open(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  }));
  const every = form.querySelector("#open");
  every.addEventListener("click", () => {
    const wanted = every.getAttribute("aria-pressed") !== "true";
    every.setAttribute("aria-pressed", wanted);
    every.textContent = wanted ? "Close all" : "Open all";
    bodies.forEach((claim) => open(claim, wanted));
    if (wanted) bodies.forEach(reveal);
  });
  all("a[data-verdict]").forEach((link) => link.addEventListener("click", () => {
    form.reset();
    form.verdict.value = link.dataset.verdict;
    form.kind.value = link.dataset.kind;
    setTimeout(filter);
  }));
  filter();
  return (claim) => {  // opens it, even if it was filtered away
    if (!bodies.includes(claim)) return;
    if (claim.hidden) { form.reset(); filter(); }
    open(claim, true);
  };
}

// What is folded opens where something in it is asked for.

function reveal(part) {
  for (let fold = part.closest("details"); fold; fold = fold.parentNode.closest("details")) fold.open = true;
}

function arriving(opened) {
  const arrive = () => {
    const part = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!part) return;
    opened(part);
    reveal(part);
    part.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  arrive();
}

// Who is best: one table of all, of one stream, measure and feedback; copied as it stands.

function leaderboard(form, boards) {
  const choose = form.elements;
  const fill = (select, values) => {
    const old = select.value;
    select.replaceChildren(...values.map(([value, text]) => new Option(text, value)));
    if (old && values.some(([value]) => value === old)) select.value = old;
    select.parentNode.hidden = values.length < 2;
  };
  const texts = (values, first = []) => [...first, ...new Set(values)].map((one) => (Array.isArray(one) ? one : [one, one]));
  const of = (name) => boards.filter((board) => board.dataset.board === name);
  let table = null;
  const heads = () => [...table.tHead.rows[0].cells];
  const show = () => {
    heads().forEach((head, column) => {
      const { stream } = head.dataset;
      const apart = head.previousElementSibling?.dataset.stream === stream;  // the difference, beside its mean
      const off = stream ? choose.stream.value ? stream !== choose.stream.value : apart : false;
      [...table.rows].forEach((row) => { row.cells[column].hidden = off || (!stream && column > 1 && choose.stream.value !== ""); });
    });
    all("em", table).forEach((near) => { near.hidden = choose.stream.value !== ""; });
    [...table.tBodies[0].rows].forEach((row) => {
      row.hidden = choose.feedback.value !== "" && row.cells[1].textContent !== choose.feedback.value;
    });
    form.querySelector("output").textContent = "";
  };
  const order = () => {  // the best first: on the stream, or by their mean ranks
    const column = heads().findIndex((head) => choose.stream.value && head.dataset.stream === choose.stream.value);
    const rank = (row) => Number((row.cells[column] ?? row).dataset.rank ?? Infinity);
    const rows = [...table.tBodies[0].rows].sort((a, b) => rank(a) - rank(b) || a.dataset.rank - b.dataset.rank);
    table.tBodies[0].append(...rows);
    heads().forEach((head) => head.removeAttribute("aria-sort"));
    show();
  };
  const choice = () => {
    fill(choose.measure, texts(of(choose.board.value).map((board) => board.dataset.measure)));
    boards.forEach((board) => {
      board.hidden = board.dataset.board !== choose.board.value || board.dataset.measure !== choose.measure.value;
      if (!board.hidden) { board.open = true; table = board.querySelector("table"); }
    });
    const streams = new Set(heads().map((head) => head.dataset.stream).filter(Boolean));
    fill(choose.stream, [...texts(streams), ...(streams.size > 1 ? [["", "all"]] : [])]);
    const sees = heads()[1].textContent.startsWith("feedback");
    const seen = sees ? [...table.tBodies[0].rows].map((row) => row.cells[1].textContent) : [];
    fill(choose.feedback, texts(seen, [["", "any"]]));
    order();
  };
  fill(choose.board, texts(boards.map((board) => board.dataset.board)));
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", ({ target }) => ({ board: choice, measure: choice, stream: order }[target.name] ?? show)());
  choice();

  const rows = () => [table.tHead.rows[0], ...table.tBodies[0].rows].filter((row) => !row.hidden)
    .map((row) => [...row.cells].filter((cell) => !cell.hidden));
  const text = (cell) => [...cell.childNodes].filter((node) => !node.hidden).map((node) => node.textContent.trim())
    .filter(Boolean).join(" ").replace(" †", "†");
  const csv = () => {
    const number = (value) => value?.replaceAll(",", "").replace("+", "") ?? "";
    const lines = [["learner", "feedback", "stream", "mean", "low", "high", "difference", "difference_low", "difference_high", "tie"]];
    const sees = heads()[1].textContent.startsWith("feedback");
    rows().slice(1).forEach(([{ parentNode: row }]) => heads().forEach((head, column) => {
      const cell = row.cells[column], next = row.cells[column + 1];
      if (!head.dataset.stream || head.hidden || head.previousElementSibling?.dataset.stream === head.dataset.stream) return;
      const numbers = (one) => (one.textContent.replace(/\(.*\)/, "").match(/[-+]?[\d.,]*\d/g) ?? []).map(number);
      const [mean, low, high] = numbers(cell), [less, least, most] = numbers(next);
      if (mean === undefined) return;
      lines.push([row.cells[0].textContent, sees ? row.cells[1].textContent : "", head.dataset.stream,
        ...[mean, low, high, less, least, most].map((one) => one ?? ""), cell.querySelector("b, i") ? "yes" : "no"]);
    }));
    const harmless = (value) => (/^[=+\-@\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value);  // no formula
    const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    return lines.map((line) => line.map(harmless).map(quoted).join(",")).join("\n") + "\n";
  };
  const escaped = (value) => value.replace(/[\\&%$#_{}~^<>|]/g, (sign) => ({ "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    "\\": "\\textbackslash{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}" }[sign] ?? `\\${sign}`))
    .replaceAll("†", "$^\\dagger$").replaceAll("–", "--");
  const latex = () => {  // as `scant table` writes it
    const of = (cell) => { const bold = cell.querySelector("b")?.textContent, all = escaped(text(cell)); return bold ? all.replace(bold, `\\textbf{${bold}}`) : all; };
    const lines = rows().map((row) => `${row.map(of).join(" & ")} \\\\`);
    const names = heads().filter((head) => !head.hidden && head.dataset.kind !== "number").length;
    const differs = rows()[0].some((cell) => /^minus /.test(text(cell))) || rows().some((row) => row.some((cell) => / \([-+]/.test(text(cell))));
    const caption = differs ? table.caption.textContent : table.caption.textContent.replace(/ Differences are .*/, "");
    const alike = lines.some((line) => line.includes("\\dagger")) ? "; dagger: not told apart from it" : "";
    return ["\\begin{table}", "\\centering", "\\scriptsize\\tabcolsep=3pt",
      `\\caption{${escaped(`${caption} Bold: the best${alike}.`)}}\\label{${table.closest(".board").dataset.label}}`,
      `\\begin{tabular}{${"l".repeat(names)}${"r".repeat(rows()[0].length - names)}}`, "\\toprule", lines[0], "\\midrule",
      ...lines.slice(1), "\\bottomrule", "\\end{tabular}", "\\end{table}", ""].join("\n");
  };
  const copy = (value) => {  // a page opened from a file may have no clipboard of its own
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = value;
    area.select();
    document.execCommand("copy");
    area.remove();
  };
  all("[data-copy]", form).forEach((button) => button.addEventListener("click", () => {
    copy(button.dataset.copy === "csv" ? csv() : latex());
    button.focus();
    form.querySelector("output").textContent = "Copied.";
  }));
}

// Verdicts are explained where they stand, by the words used here: on hover, focus and touch.

function explaining() {
  const note = document.body.appendChild(document.createElement("div"));
  note.className = "note";
  note.hidden = true;
  const show = (event) => {
    const word = event.target.closest(".verdict") ?? event.target.querySelector?.(":scope > .verdict");
    const meaning = word && document.getElementById(`means-${word.classList[1]}`);
    note.hidden = !meaning;
    if (!meaning) return;
    note.textContent = meaning.textContent;
    const box = word.getBoundingClientRect();
    note.style.left = `${Math.max(8, Math.min(box.left, innerWidth - note.offsetWidth - 8)) + scrollX}px`;
    note.style.top = `${box.bottom + 6 + scrollY}px`;
  };
  ["pointerover", "focusin", "click"].forEach((kind) => document.addEventListener(kind, show));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") note.hidden = true; });
}

// Figures.

// On a narrow screen the entries of a figure's legend come first, then its panels, one a row, with letters that can be read.

const LETTER = 11;  // pixels, at least
const narrow = matchMedia("(max-width: 40rem)");

function panels(whole, source) {
  const width = whole.closest("figure, .question").clientWidth - 28;
  const sizes = all("text", source).map((one) => Math.max(...[one, ...all("tspan", one)].map((part) => parseFloat(getComputedStyle(part).fontSize))));
  const scale = LETTER / Math.min(...sizes) + 0.02;
  const back = source.getScreenCTM().inverse();
  const box = (parts) => {  // in the figure's own units, 3 around
    const boxes = parts.map((part) => part.getBoundingClientRect()).filter((one) => one.width);
    const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((one) => one[side])));
    const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((one) => one[side])));
    const start = new DOMPoint(left, top).matrixTransform(back), end = new DOMPoint(right, bottom).matrixTransform(back);
    return [start.x - 3, start.y - 3, end.x - start.x + 6, end.y - start.y + 6];
  };
  const part = (group, parts, fills) => {
    const [x, y, wide, tall] = box(parts);
    if (!Number.isFinite(wide)) return null;
    if (!fills && wide * scale > width && !group.querySelector("path, use")) {  // a page wraps lines, an SVG does not
      const title = document.createElement("p");
      title.textContent = all("text", group).map((one) => one.textContent).join(" ");
      return title;
    }
    const crop = document.createElementNS(whole.namespaceURI, "svg"), use = document.createElementNS(whole.namespaceURI, "use");
    const size = fills ? Math.max(scale, width / wide) : scale;
    const places = { viewBox: [x, y, wide, tall].join(" "), width: wide * size, height: tall * size };
    Object.entries(places).forEach(([name, value]) => crop.setAttribute(name, value));
    group.id ||= `${source.id}-${all("[data-panel], [data-key]", source).indexOf(group)}`;
    use.setAttribute("href", `#${group.id}`);
    crop.append(use);
    return crop;
  };
  const rows = document.createElement("div");
  rows.className = "panels";
  const drawn = all("[data-panel]", source).map((panel) => part(panel, [...all("text", panel), ...all("path", panel).slice(0, 1)], true));
  const named = all("[data-key]", source).filter((key) => !key.closest("[data-panel]")).map((key) => part(key, [key], false));
  rows.append(...[...named, ...drawn].filter(Boolean));
  return rows;
}

function stacked(whole, source) {
  let rows = null;
  const fit = () => {
    rows?.remove();
    whole.classList.remove("split");
    if (!narrow.matches || !source.querySelector("[data-panel]")) return;
    rows = panels(whole, source);
    whole.classList.add("split");
    whole.after(rows);
  };
  narrow.addEventListener("change", fit);
  fit();
}

function legend(svg) {
  const hidden = new Set();
  all("[data-entry]", svg).forEach((entry) => {
    const box = entry.getBBox();
    const area = document.createElementNS(svg.namespaceURI, "rect");
    const place = { x: box.x - 2, y: box.y - 1, width: box.width + 4, height: box.height + 2, "fill-opacity": 0 };
    Object.entries(place).forEach(([name, value]) => area.setAttribute(name, value));
    entry.prepend(area);
    entry.setAttribute("role", "button");
    entry.setAttribute("tabindex", "0");
    entry.setAttribute("aria-pressed", "true");
    const toggle = () => {
      hidden.delete(entry.dataset.entry) || hidden.add(entry.dataset.entry);
      entry.setAttribute("aria-pressed", !hidden.has(entry.dataset.entry));
      all("[data-curve]", svg).forEach((part) => {
        part.classList.toggle("off", hidden.has(part.dataset.curve));
      });
    };
    entry.addEventListener("click", toggle);
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
  });
}

function zoomable(figure) {
  const card = figure.querySelector(".card");
  const svg = card.querySelector("svg");
  const whole = svg.getAttribute("viewBox").split(/\s+/).map(Number);
  let view = whole;
  const show = (x, y, width) => {  // keeps the shape, and stays within the figure
    const [left, top, most, tall] = whole;
    width = Math.min(most, Math.max(most / 40, width));
    const height = (width * tall) / most;
    x = Math.min(left + most - width, Math.max(left, x));
    y = Math.min(top + tall - height, Math.max(top, y));
    view = [x, y, width, height];
    svg.setAttribute("viewBox", view.join(" "));
    card.classList.toggle("zoomed", width < most);  // lines stay thin
  };
  const scale = (factor) => {  // about the middle
    const [x, y, width, height] = view;
    show(x + (width * (1 - factor)) / 2, y + (height * (1 - factor)) / 2, width * factor);
  };
  const move = (x, y) => show(view[0] + x * view[2], view[1] + y * view[3], view[2]);
  const actions = { in: () => scale(1 / 1.5), out: () => scale(1.5), all: () => show(...whole) };
  all("[data-zoom]", figure).forEach((button) => button.addEventListener("click", actions[button.dataset.zoom]));
  const keys = {
    "+": actions.in, "=": actions.in, "-": actions.out, "0": actions.all,
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0),
    ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
  };
  card.addEventListener("keydown", (event) => {
    const own = keys[event.key];
    if (!own || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow") && view[2] === whole[2]) return;  // nothing to move: the page scrolls
    event.preventDefault();
    own();
  });
  svg.addEventListener("dblclick", (event) => { if (!event.target.closest("[data-entry]")) actions.all(); });

  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  let start = null, lens = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch" || event.target.closest("[data-entry]")) return;
    start = at(event);
    svg.setPointerCapture(event.pointerId);
    card.classList.add("drags");
  });
  svg.addEventListener("pointermove", (event) => {
    if (!start) return;
    lens ??= svg.appendChild(document.createElementNS(svg.namespaceURI, "rect"));
    lens.setAttribute("class", "lens");
    const [x, y] = at(event), [left, top] = start;
    const corner = { x: Math.min(x, left), y: Math.min(y, top) };
    const place = { ...corner, width: Math.abs(x - left), height: Math.abs(y - top) };
    Object.entries(place).forEach(([name, value]) => lens.setAttribute(name, value));
  });
  const end = (event) => {
    if (start && event.type === "pointerup") {
      const [x, y] = at(event);
      const width = Math.abs(x - start[0]), height = Math.abs(y - start[1]);
      const wide = Math.max(width, (height * whole[2]) / whole[3]);
      if (wide > view[2] / 50) {  // no mere click
        const tall = (wide * whole[3]) / whole[2];
        show((x + start[0] - wide) / 2, (y + start[1] - tall) / 2, wide);
      }
    }
    lens?.remove();
    start = lens = null;
    card.classList.remove("drags");
  };
  svg.addEventListener("pointerup", end);
  svg.addEventListener("pointercancel", end);
}

function unfold(figure, wanted) {
  figure.classList.toggle("open", wanted);
  figure.querySelector(".more").setAttribute("aria-expanded", wanted);
}

function figures(gallery) {
  const drawn = all("figure", gallery);
  drawn.forEach((figure) => {
    const svg = figure.querySelector(".card > svg"), button = figure.querySelector(".more");
    button.addEventListener("click", () => unfold(figure, !figure.classList.contains("open")));
    if (!svg) return;
    figure.querySelector(".card").addEventListener("click", () => figure.classList.contains("open") || button.click());
    legend(svg);
    zoomable(figure);
    button.addEventListener("click", () => stacked(svg, svg), { once: true });
  });
  return (part) => { if (drawn.includes(part) && !part.classList.contains("open")) part.querySelector(".more").click(); };
}

document.addEventListener("DOMContentLoaded", () => {
  theme(document.getElementById("theme"));
  all("table.sortable").forEach(sortable);
  all("table:not(.claims)").filter((table) => table.tHead).forEach(fitting);
  printing();
  const boards = all(".board");
  if (boards.length) leaderboard(document.getElementById("choose"), boards);
  all(".picture.card > svg").forEach((picture) => stacked(picture, document.getElementById(picture.querySelector("use").getAttribute("href").slice(1))));
  explaining();
  const tables = all("table.claims"), gallery = document.querySelector(".gallery");
  const opened = [
    ...(tables.length ? [claims(tables, document.getElementById("filter"))] : []),
    ...(gallery ? [figures(gallery)] : []),
  ];
  arriving((part) => opened.forEach((show) => show(part)));
});
