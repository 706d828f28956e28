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

// Ticks stay when a live list is replaced.
let ticked = [];
addEventListener("htmx:beforeSwap", () => {
  ticked = [...document.querySelectorAll(".pick :checked")].map(({ value }) => value);
});
addEventListener("htmx:afterSettle", () => {
  for (const box of document.querySelectorAll(".pick input")) {
    if (ticked.includes(box.value)) box.checked = true;
  }
  offerCompare();
});

// No row moves under the pointer: new runs are announced, and wait until it leaves the list.
addEventListener("htmx:beforeSwap", ({ target, detail }) => {
  if (target.id !== "runs" || !matchMedia("(hover: hover)").matches) return;
  const page = new DOMParser().parseFromString(detail.serverResponse, "text/html");
  const news = page.getElementById("news")?.textContent;
  if (!news || !target.matches(":hover")) return;
  detail.shouldSwap = false;
  document.getElementById("news").textContent = news;
});
