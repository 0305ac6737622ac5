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
      const keyed = units().map((unit) => [unit, numeric ? parseFloat(value(unit, column)) : value(unit, column)]);
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
    closed = all("details:not([open]):is(#words, .cells)");
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
}

function open(claim, wanted) {
  claim.querySelector(".more").setAttribute("aria-expanded", wanted);
  claim.querySelector(".detail").classList.toggle("open", wanted);
}

function claims(table, form) {
  const bodies = [...table.tBodies];
  const texts = new Map(bodies.map((claim) => [claim, claim.textContent.toLowerCase()]));
  const filter = () => {
    const words = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = ["verdict", "kind", "family", "source"].filter((name) => form[name].value);
    for (const claim of bodies) {
      claim.hidden = !(chosen.every((name) => claim.dataset[name] === form[name].value)
        && words.every((word) => texts.get(claim).includes(word)));
    }
    const seen = bodies.filter((claim) => !claim.hidden).length;
    form.querySelector("output").textContent = `${seen} of ${bodies.length} claims`;
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  table.addEventListener("click", (event) => {
    const button = event.target.closest(".more");
    if (button) open(button.closest("tbody"), button.getAttribute("aria-expanded") !== "true");
  });
  const every = form.querySelector("#open");
  every.addEventListener("click", () => {
    const wanted = every.getAttribute("aria-pressed") !== "true";
    every.setAttribute("aria-pressed", wanted);
    every.textContent = wanted ? "Close all" : "Open all";
    bodies.forEach((claim) => open(claim, wanted));
  });
  all("a[data-verdict]").forEach((link) => link.addEventListener("click", () => {
    form.reset();
    form.verdict.value = link.dataset.verdict;
    form.kind.value = link.dataset.kind;
    setTimeout(filter);
  }));
  const arrive = () => {  // at a claim, by a link to it
    const claim = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!bodies.includes(claim)) return;
    if (claim.hidden) { form.reset(); filter(); }
    open(claim, true);
    claim.scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  filter();
  arrive();
}

// Figures.

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

document.addEventListener("DOMContentLoaded", () => {
  theme(document.getElementById("theme"));
  all("table.sortable").forEach(sortable);
  all("table:not(.claims)").filter((table) => table.tHead).forEach(fitting);
  printing();
  const table = document.querySelector("table.claims");
  if (table) claims(table, document.getElementById("filter"));
  all("figure").filter((figure) => figure.querySelector("svg")).forEach((figure) => {
    legend(figure.querySelector("svg"));
    zoomable(figure);
  });
});
