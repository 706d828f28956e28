// Enhances the run page: one Tab stop in the waterfall, keys, folding, zoom, selection without a
// reload, further rows in place, copy buttons. The page works without this script.
"use strict";

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

const rowsOf = () => all(".wf tbody tr");
const shownRows = () => rowsOf().filter((row) => !row.hidden);
const linkOf = (row) => one(".row", row);
const depthOf = (row) => Number(row.getAttribute("aria-level"));

/** Rows below a row. */
function below(row) {
  const rows = [];
  for (
    let at = row.nextElementSibling;
    at && depthOf(at) > depthOf(row);
    at = at.nextElementSibling
  ) {
    rows.push(at);
  }
  return rows;
}

/** Folded rows by id, which stay folded when the page updates itself. */
const folded = new Set();

/** The part of the axis that is shown, in milliseconds; null for all of it. */
let zoomed = null;

function fold(row, isFolded) {
  if (!one(".twist", row)) return;
  if (isFolded) folded.add(row.id);
  else folded.delete(row.id);
  showRows();
}

function showRows() {
  let closedAt = Infinity;
  for (const row of rowsOf()) {
    const depth = depthOf(row);
    if (depth <= closedAt) closedAt = Infinity;
    row.hidden = closedAt !== Infinity;
    if (!one(".twist", row)) continue;
    row.setAttribute("aria-expanded", String(!folded.has(row.id)));
    if (closedAt === Infinity && folded.has(row.id)) closedAt = depth;
  }
}

/** Makes one row the Tab stop. */
function rove(row) {
  for (const other of rowsOf()) linkOf(other).tabIndex = other === row ? 0 : -1;
}

function focusRow(row) {
  if (!row) return;
  rove(row);
  linkOf(row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

let loading = new AbortController();

/** Shows a step at the right: the same page, of which only that part is taken. */
async function select(row, url) {
  for (const other of rowsOf()) other.setAttribute("aria-selected", String(other === row));
  loading.abort();
  loading = new AbortController();
  const step = one("#step");
  try {
    const answer = await fetch(url, { signal: loading.signal, headers: { "hx-request": "true" } });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    step.replaceChildren(...one("#step", page).childNodes);
    step.scrollTop = 0;
    history.replaceState(null, "", url);
    offerCopies();
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  }
}

function offerCopies() {
  for (const button of all("button[data-copy]")) button.hidden = !navigator.clipboard;
}

/** Shows a part of the axis; bars keep their milliseconds. */
function zoom(from, to) {
  const wf = one(".wf");
  const length = Number(wf.dataset.length);
  const isAll = from <= 0 && to >= length;
  zoomed = isAll ? null : [from, to];
  const percent = (ms) => (ms - from) / (to - from) * 100;
  for (const bar of all("rect[data-s]", wf)) {
    const [start, end] = [percent(Number(bar.dataset.s)), percent(Number(bar.dataset.e))];
    bar.setAttribute("visibility", end < 0 || start > 100 ? "hidden" : "visible");
    const left = Math.max(0, start);
    bar.setAttribute("x", `${left}%`);
    if (bar.getAttribute("width").endsWith("%")) {
      bar.setAttribute("width", `${Math.max(0.15, Math.min(100, end) - left)}%`);
    }
  }
  drawTicks(wf, from, to, percent);
  const part = one(".minimap .win");
  if (part) {
    part.setAttribute("visibility", isAll ? "hidden" : "visible");
    part.setAttribute("x", from / length * 1_000);
    part.setAttribute("width", (to - from) / length * 1_000);
  }
  one("[data-fit]").hidden = isAll;
}

const ROUND_MS = [1, 2, 5, 10, 20, 30].flatMap((n) => [n * 1_000, n * 60_000])
  .concat([1, 2, 3, 6, 12].map((n) => n * 3_600_000)).sort((a, b) => a - b);

function drawTicks(wf, from, to, percent) {
  const least = (to - from) / 5;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = least > 1_000
    ? ROUND_MS.find((ms) => ms >= least) ?? 86_400_000 * Math.ceil(least / 86_400_000)
    : Math.max(1, ([1, 2, 5].find((n) => n * power >= least) ?? 10) * power);
  const axis = one(".axis", wf);
  const ticks = one("#ticks");
  for (const text of all("text", axis)) text.remove();
  ticks.replaceChildren();
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  for (let ms = Math.ceil(from / step) * step; ms < to; ms += step) {
    const x = `${percent(ms)}%`;
    ticks.append(make("line", { class: "tick", x1: x, x2: x, y1: 0, y2: "100%" }));
    const text = make("text", { x, y: 12 });
    text.textContent = ms < 1_000 || step < 1_000 && ms < 10_000
      ? `${Math.round(ms)} ms`
      : ms < 120_000
      ? `${Math.round(ms / 100) / 10} s`
      : ms < 7_200_000
      ? `${Math.round(ms / 6_000) / 10} min`
      : `${Math.round(ms / 360_000) / 10} h`;
    axis.append(text);
  }
}

addEventListener("pointerdown", (event) => {
  const map = event.target.closest?.("[data-minimap]");
  if (!map || !one(".wf")) return;
  const length = Number(one(".wf").dataset.length);
  const box = map.getBoundingClientRect();
  const at = (x) => Math.min(1, Math.max(0, (x - box.left) / box.width)) * length;
  const start = at(event.clientX);
  const isDrag = (x) => Math.abs(at(x) - start) > length / 100;
  const move = ({ clientX }) => {
    if (isDrag(clientX)) zoom(Math.min(start, at(clientX)), Math.max(start, at(clientX)));
  };
  map.setPointerCapture(event.pointerId);
  map.addEventListener("pointermove", move);
  map.addEventListener("pointerup", ({ clientX }) => {
    map.removeEventListener("pointermove", move);
    if (!isDrag(clientX)) zoom(0, length);
  }, { once: true });
});

addEventListener("click", async (event) => {
  const within = (selector) => event.target.closest?.(selector);
  const isPlain = !event.metaKey && !event.ctrlKey && !event.shiftKey;
  let element;
  if ((element = within("button[data-copy]"))) {
    const source = document.getElementById(element.dataset.copy);
    await navigator.clipboard.writeText(source.innerText.trim());
    element.classList.add("copied");
    setTimeout(() => element.classList.remove("copied"), 1_500);
  } else if ((element = within(".twist"))) {
    const row = element.closest("tr");
    fold(row, !folded.has(row.id));
  } else if (within("[data-collapse]")) {
    collapseAll(within("[data-collapse]"));
  } else if (within("[data-fit]")) {
    zoom(0, Number(one(".wf").dataset.length));
  } else if (isPlain && (element = within(".wf .row"))) {
    event.preventDefault();
    const row = element.closest("tr");
    rove(row);
    await select(row, element.href);
    if (matchMedia("(max-width: 1180px)").matches) one("#step").scrollIntoView();
  } else if (isPlain && (element = within("[data-select]"))) {
    const row = document.getElementById(decodeURIComponent(element.hash.slice(1)));
    if (!row?.closest(".wf")) return;
    event.preventDefault();
    folded.clear();
    showRows();
    await select(row, element.href);
    row.scrollIntoView({ block: "center" });
    focusRow(row);
  } else if (isPlain && (element = within("[data-more]"))) {
    event.preventDefault();
    await appendRows(element);
  }
});

function collapseAll(button) {
  const rows = rowsOf().filter((row) => one(".twist", row) && depthOf(row) > 1);
  const isOpen = rows.some((row) => !folded.has(row.id));
  for (const row of rows) {
    if (isOpen) folded.add(row.id);
    else folded.delete(row.id);
  }
  button.textContent = isOpen ? "Expand all" : "Collapse all";
  showRows();
}

/** Appends the rows of the next page; the root is there already. */
async function appendRows(link) {
  const answer = await fetch(link.href, { headers: { "hx-request": "true" } });
  if (!answer.ok) return location.assign(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const first = rowsOf().length;
  for (const row of all("#rows tr", page)) {
    if (!document.getElementById(row.id)) one("#rows").append(row);
  }
  const more = one(".wf-more", page);
  if (more) one(".wf-more").replaceWith(more);
  else one(".wf-more").remove();
  for (const row of rowsOf().slice(first)) row.setAttribute("aria-selected", "false");
  begin();
  focusRow(rowsOf()[first]);
}

addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || one("dialog[open]")) return;
  if (event.target.matches("input, textarea, select")) return;
  const row = event.target.closest?.(".wf tbody tr");
  const rows = shownRows();
  const at = rows.indexOf(row);
  const keys = {
    j: () => focusRow(rows[Math.min(rows.length - 1, at + 1)]),
    k: () => focusRow(rows[Math.max(0, at - 1)]),
    e: () => nextFailure(),
    "[": () => one("[rel=prev][data-key]")?.click(),
    "]": () => one("[rel=next][data-key]")?.click(),
  };
  const inRow = {
    ArrowDown: keys.j,
    ArrowUp: keys.k,
    Home: () => focusRow(rows[0]),
    End: () => focusRow(rows.at(-1)),
    ArrowLeft: () => {
      if (row.getAttribute("aria-expanded") === "true") return fold(row, true);
      focusRow(rows.slice(0, at).findLast((other) => depthOf(other) < depthOf(row)));
    },
    ArrowRight: () => {
      if (folded.has(row.id)) fold(row, false);
      else if (one(".fold-link", row)) one(".fold-link", row).click();
      else if (below(row).length > 0) focusRow(rows[at + 1]);
    },
  };
  const action = keys[event.key] ?? (row ? inRow[event.key] : undefined);
  if (!action) return;
  event.preventDefault();
  action();
});

function nextFailure() {
  const failed = rowsOf().filter((row) => row.matches(".failed:not(.is-run)"));
  const at = failed.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const next = failed[(at + 1) % failed.length];
  if (!next) return;
  folded.clear();
  showRows();
  focusRow(next);
  linkOf(next).click();
}

/** Prepares the rows, also after the page updated itself. */
function begin() {
  offerCopies();
  if (!one(".wf")) return;
  one("#steps").classList.add("zooms");
  showRows();
  const collapse = one("[data-collapse]");
  collapse.hidden = !rowsOf().some((row) => one(".twist", row) && depthOf(row) > 1);
  const focused = document.activeElement?.closest?.(".wf tbody tr");
  const selected = rowsOf().find((row) => row.getAttribute("aria-selected") === "true");
  rove(focused ?? selected ?? rowsOf()[0]);
  if (zoomed) zoom(...zoomed);
}

begin();

/** Id of the row that has the focus while the page updates itself. */
let focusedId = null;

addEventListener("htmx:oobBeforeSwap", ({ detail: { target } }) => {
  if (target.id === "steps") focusedId = document.activeElement?.closest?.(".wf tbody tr")?.id;
});

addEventListener("htmx:oobAfterSwap", ({ detail: { target } }) => {
  if (target.id !== "steps") return;
  const row = focusedId && document.getElementById(focusedId);
  if (row) linkOf(row).focus({ preventScroll: true });
  const url = new URL(location.href);
  const selected = document.getElementById(url.hash.slice(1));
  if (selected?.closest(".wf")) {
    for (const other of rowsOf()) other.setAttribute("aria-selected", String(other === selected));
  }
  begin();
});

// An update would take the text that someone types.
addEventListener("htmx:beforeRequest", (event) => {
  if (document.activeElement?.closest?.("#steps form")) event.preventDefault();
});
