// Enhances pages: search dialog, theme, time zone, copy buttons, details that stay open, no polling
// in hidden tabs. Every page works without this script.
"use strict";

const root = document.documentElement;

/** Stores a preference for the server, which renders the next page with it. */
function remember(name, value) {
  const year = 34_560_000;
  document.cookie = `${name}=${value}; Path=/dashboard; Max-Age=${year}; SameSite=Lax`;
}

// Times. The server knows the browser's zone from a cookie; before that, and after a switch, the
// script formats the same elements by the same function.
const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const now = Number(root.dataset.now);

function showTimes(within) {
  const { zone } = root.dataset;
  for (const time of within.querySelectorAll("time[data-at], time[data-ago]")) {
    const ms = Date.parse(time.dateTime);
    time.title = exactText(ms, zone);
    if ("at" in time.dataset) time.textContent = instantText(ms, now, zone);
  }
}

function showZone() {
  const isUtc = root.dataset.utc === "true";
  const zone = isUtc ? "UTC" : ownZone;
  if (root.dataset.zone !== zone) {
    root.dataset.zone = zone;
    showTimes(document);
  }
  for (const name of document.querySelectorAll("[data-utc-name]")) {
    name.textContent = isUtc ? "UTC" : "Local time";
  }
  for (const item of document.querySelectorAll(".menu [data-utc-switch]")) {
    item.textContent = isUtc ? "Show times in local time" : "Show times in UTC";
  }
}

if (!`; ${document.cookie};`.includes(`; runledger-zone=${ownZone};`)) {
  remember("runledger-zone", ownZone);
}
if (root.dataset.now !== undefined) showZone();

addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-utc-switch]")) return;
  event.preventDefault();
  const isUtc = root.dataset.utc !== "true";
  root.dataset.utc = String(isUtc);
  remember("runledger-time", isUtc ? "utc" : "local");
  showZone();
});

addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-theme-switch]")) return;
  event.preventDefault();
  const isDark = root.dataset.theme === undefined
    ? matchMedia("(prefers-color-scheme: dark)").matches
    : root.dataset.theme === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  remember("runledger-theme", root.dataset.theme);
});

// Search: ⌘K or Ctrl+K opens the dialog, arrows walk through the results, Enter opens the first.
const jump = document.getElementById("jump");

function openSearch() {
  if (!jump || jump.open) return;
  jump.showModal();
  const input = jump.querySelector("input");
  input.select();
  // Earlier results stay, so that the arrows work at once.
  if (jump.querySelector(".found a") === null) search(input.form);
}

/** The latest search; an earlier one that is still loading is aborted. */
let searching = new AbortController();

/** Shows the results of the form, which are part of the search page. */
async function search(form) {
  searching.abort();
  searching = new AbortController();
  const query = new URLSearchParams(new FormData(form));
  try {
    const answer = await fetch(`${form.action}?${query}`, { signal: searching.signal });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("found");
    if (!found) return;
    const shown = jump.querySelector(".found");
    if (shown.contains(document.activeElement)) jump.querySelector("input").focus();
    shown.replaceChildren(...found.childNodes);
  } catch {
    // Aborted, or the server is away: the results stay as they are.
  }
}

let typing;
jump?.addEventListener("input", ({ target }) => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    typing = undefined;
    search(target.form);
  }, 120);
});

addEventListener("keydown", (event) => {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openSearch();
  }
  if (event.key === "Escape") {
    document.activeElement?.closest("details.menu[open]")?.querySelector("summary").focus();
    closeMenus(null);
  }
});

addEventListener("click", (event) => {
  if (jump && event.target.closest?.("[data-jump]") && !event.metaKey && !event.ctrlKey) {
    event.preventDefault();
    openSearch();
  }
  // A click beside the dialog closes it.
  if (event.target === jump) jump.close();
  closeMenus(event.target);
});

jump?.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  event.preventDefault();
  const stops = [jump.querySelector("input"), ...jump.querySelectorAll(".found a")];
  const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  stops[(at + stops.length) % stops.length].focus();
});

jump?.addEventListener("submit", (event) => {
  const first = jump.querySelector(".found a");
  // Results of an earlier text are not opened: the form then leads to the search page.
  if (!first || typing !== undefined) return;
  event.preventDefault();
  first.click();
});

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(except)) menu.open = false;
  }
}

/** Shows the copy buttons, which stay hidden without a clipboard. */
function offerCopies(within) {
  if (!navigator.clipboard) return;
  for (const button of within.querySelectorAll("button[data-copies]")) button.hidden = false;
}

addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copies]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  await navigator.clipboard.writeText(source.textContent);
  const { textContent } = button;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = textContent), 1_500);
});

addEventListener("DOMContentLoaded", () => offerCopies(document));
addEventListener("htmx:afterSwap", (event) => offerCopies(event.target));

/** Keeps opened details open when the page updates itself. */
addEventListener("htmx:oobBeforeSwap", ({ detail: { target, fragment } }) => {
  for (const { id } of target.querySelectorAll("details[open][id]")) {
    fragment.querySelector(`#${id}`)?.setAttribute("open", "");
  }
});

// A hidden page does not poll.
addEventListener("htmx:beforeRequest", (event) => {
  const trigger = event.target.getAttribute("hx-trigger") ?? "";
  if (document.hidden && trigger.startsWith("every ")) event.preventDefault();
});
