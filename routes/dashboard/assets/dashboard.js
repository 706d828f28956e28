// Enhances pages: search dialog, theme, time zone, copy buttons, details that stay open, no polling
// in hidden tabs. Every page works without this script.
"use strict";

const root = document.documentElement;

/** Stores a preference for the server, which renders the next page with it; null removes it. */
function remember(name, value) {
  const seconds = value === null ? 0 : 34_560_000;
  document.cookie = `${name}=${value ?? ""}; Path=/; Max-Age=${seconds}; SameSite=Lax`;
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
  const zone = root.dataset.utc === "true" ? "UTC" : ownZone;
  if (root.dataset.zone === zone) return;
  root.dataset.zone = zone;
  for (const name of document.querySelectorAll("[data-zone-name]")) name.textContent = zone;
  showTimes(document);
}

if (!`; ${document.cookie};`.includes(`; runledger-zone=${ownZone};`)) {
  remember("runledger-zone", ownZone);
}
if (root.dataset.now !== undefined) showZone();
// The server offers a zone once it knows one. This is before the first frame, so nothing moves.
document.querySelector("[data-choice=time]")?.removeAttribute("hidden");

/** Changes in place by the choices of the account menu. */
const CHOICES = {
  theme(value) {
    if (value === "system") delete root.dataset.theme;
    else root.dataset.theme = value;
    remember("runledger-theme", value === "system" ? null : value);
  },
  time(value) {
    root.dataset.utc = String(value === "utc");
    remember("runledger-time", value);
    showZone();
  },
};

addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-choice] button");
  if (!button) return;
  event.preventDefault();
  CHOICES[button.name](button.value);
  for (const other of button.parentElement.children) {
    other.setAttribute("aria-pressed", String(other === button));
  }
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

// A hidden page does not poll, nor one whose text is selected, or whose focus an update would lose.
addEventListener("htmx:beforeRequest", (event) => {
  const { target } = event;
  if (!target.getAttribute("hx-trigger")?.startsWith("every ")) return;
  const isInUse = getSelection()?.type === "Range" ||
    target.querySelector(":focus-visible:not([id])");
  if (document.hidden || isInUse) event.preventDefault();
});

// Filters apply as soon as they are chosen. The URL is the saved view, so this is a navigation.
addEventListener("change", ({ target: { form } }) => {
  if (form?.matches("[data-filters]")) form.requestSubmit();
});

// A browser suggests complete values. In a list by commas, each begins with the names before.
addEventListener("input", ({ target }) => {
  if (!("names" in target.dataset)) return;
  const before = target.value.slice(0, target.value.lastIndexOf(",") + 1);
  for (const option of target.list.options) {
    option.dataset.name ??= option.value;
    option.value = [before, option.dataset.name].join(before && " ");
  }
});

// A page that updates itself keeps what it shows when an update fails; a form shows its refusal.
addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig.verb !== "post") return;
  detail.shouldSwap = true;
  detail.isError = false;
});
