// What pages do besides loading each other: copying text, resting while nobody looks. All of them work
// without it.
"use strict";

/** Buttons that copy are shown only where they work. */
function offerCopies(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("button[data-copies]")) button.hidden = false;
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

/** What somebody opened stays open when the page is brought up to date. */
addEventListener("htmx:oobBeforeSwap", ({ detail: { target, fragment } }) => {
  for (const { id } of target.querySelectorAll("details[open][id]")) {
    fragment.querySelector(`#${id}`)?.setAttribute("open", "");
  }
});

// A page that nobody sees does not ask for news.
addEventListener("htmx:beforeRequest", (event) => {
  const trigger = event.target.getAttribute("hx-trigger") ?? "";
  if (document.hidden && trigger.startsWith("every ")) event.preventDefault();
});
