// Keys of the run list. The list works without them.

function listRows() {
  return [...document.querySelectorAll("[data-rows] .row")];
}

function moveBy(step) {
  const rows = listRows();
  const at = rows.findIndex((row) => row.closest("tr").contains(document.activeElement));
  rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))]?.focus();
}

const LIST_KEYS = {
  "/": () => document.querySelector(".run-filters input[name=text]").select(),
  "?": () => document.getElementById("keys").showModal(),
  j: () => moveBy(1),
  k: () => moveBy(-1),
  x: () => document.activeElement.closest("tr")?.querySelector(".pick input")?.click(),
  Escape: () => document.querySelector(".picked [type=reset]")?.click(),
};

addEventListener("keydown", (event) => {
  if (!document.querySelector(".run-filters")) return;
  const { target, key } = event;
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (document.querySelector("dialog[open]") || target.closest?.(".menu[open]")) return;
  if (target.matches?.("input:not([type=checkbox]), textarea, select")) {
    if (key === "Escape") target.blur();
    return;
  }
  const act = LIST_KEYS[key];
  if (!act) return;
  event.preventDefault();
  act();
});

// Exactly two runs can be compared.
function offerCompare() {
  const compare = document.querySelector(".picked [type=submit]");
  if (compare) compare.disabled = document.querySelectorAll(".pick :checked").length !== 2;
}
addEventListener("change", offerCompare);
addEventListener("pageshow", offerCompare);

// A live list: ticks stay, and rows that were not shown before are counted and marked.
let ticked = [];
let shown = new Set();

function rootRows(list) {
  return [...list.querySelectorAll("tr:not(.child) .row")];
}

/** Returns the new rows: one after all that were shown may have moved up from the next page. */
function newRows(list) {
  const rows = rootRows(list);
  const last = rows.findLastIndex(({ id }) => shown.has(id));
  return rows.filter(({ id }, i) => !shown.has(id) && (last < 0 || i < last));
}

function announce(count) {
  const news = document.getElementById("news");
  news.textContent = count === 0 ? "" : `${count} new run${count === 1 ? "" : "s"}`;
}

addEventListener("htmx:beforeSwap", ({ target, detail }) => {
  if (target.id !== "runs") return;
  ticked = [...target.querySelectorAll(".pick :checked")].map(({ value }) => value);
  shown = new Set(rootRows(target).map(({ id }) => id));
  // No row moves under the pointer: new ones wait until it leaves the list.
  if (!matchMedia("(hover: hover)").matches || !target.matches(":hover")) return;
  const page = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  const waiting = newRows(page.getElementById("runs") ?? page).length;
  if (waiting === 0) return;
  detail.shouldSwap = false;
  announce(waiting);
});
addEventListener("htmx:afterSettle", ({ target }) => {
  if (target.id !== "runs") return;
  for (const box of target.querySelectorAll(".pick input")) {
    if (ticked.includes(box.value)) box.checked = true;
  }
  const rows = newRows(target);
  announce(rows.length);
  for (const row of rows) {
    const mark = document.createElement("mark");
    mark.className = "fresh";
    mark.textContent = "new";
    row.after(mark);
  }
  offerCompare();
});
