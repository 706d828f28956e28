// Enhances the run page: one Tab stop in the waterfall, keys, folding, zoom, selection without a
// reload, further rows in place, copy buttons. The page works without this script.
"use strict";

const rowsOf = () => all(".wf tbody tr");
const shownRows = () => rowsOf().filter((row) => !row.hidden);
const linkOf = (row) => one(".row", row);
const depthOf = (row) => Number(row.getAttribute("aria-level"));

const selectedRow = () => rowsOf().find((row) => row.getAttribute("aria-selected") === "true");

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

/** Shows a word for a moment, also to screen readers. */
function say(text) {
  const word = Object.assign(document.createElement("p"), { className: "toast", role: "status" });
  document.body.append(word);
  word.textContent = text;
  setTimeout(() => word.remove(), 1_500);
}

addEventListener("click", async (event) => {
  const within = (selector) => event.target.closest?.(selector);
  const isPlain = !event.metaKey && !event.ctrlKey && !event.shiftKey;
  let element;
  if ((element = within("button[data-copy]"))) {
    const source = document.getElementById(element.dataset.copy);
    await navigator.clipboard.writeText(source.innerText.trim());
    element.classList.add("copied");
    setTimeout(() => element.classList.remove("copied"), 1_500);
    say("Copied");
  } else if ((element = within(".twist"))) {
    const row = element.closest("tr");
    fold(row, !folded.has(row.id));
  } else if (within("[data-collapse]")) {
    collapseAll(within("[data-collapse]"));
  } else if (within("[data-zoom]")) {
    zoomToRows();
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

/** True once rows of a further page are shown. */
let isExtended = false;

/** Appends the rows of the next page; the root is there already. */
async function appendRows(link) {
  const answer = await fetch(link.href, { headers: { "hx-request": "true" } });
  if (!answer.ok) return location.assign(link.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  isExtended = true;
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
  const at = rows.indexOf(row ?? selectedRow());
  const keys = {
    j: () => focusRow(rows[Math.min(rows.length - 1, at + 1)]),
    k: () => focusRow(rows[Math.max(0, at - 1)]),
    e: () => nextFailure(row ?? selectedRow()),
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

/** Selects the next failed step after a row, else the first one. */
function nextFailure(row) {
  const at = rowsOf().indexOf(row);
  const isFailed = (row) => row.matches(".failed:not(.is-run)");
  const next = rowsOf().slice(at + 1).find(isFailed) ?? rowsOf().find(isFailed);
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
  collapse.textContent = folded.size > 0 ? "Expand all" : "Collapse all";
  collapse.hidden = !rowsOf().some((row) => one(".twist", row) && depthOf(row) > 1);
  one("[data-zoom]").hidden = !one(".wf-more") || !one(".minimap");
  const focused = document.activeElement?.closest?.(".wf tbody tr");
  rove(focused ?? selectedRow() ?? rowsOf()[0]);
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

// An update would take the text that someone types, and the rows that were appended.
addEventListener("htmx:beforeRequest", (event) => {
  if (isExtended && event.target.id === "facts") {
    event.target.setAttribute("hx-select-oob", "#facts,#results");
  }
  if (document.activeElement?.closest?.("#steps form")) event.preventDefault();
});
