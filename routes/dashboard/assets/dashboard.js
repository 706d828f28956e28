// Enhances pages: copy buttons, open details that survive updates, no polling in hidden tabs. Every
// page works without this script.
"use strict";

/** Shows the copy buttons, which stay hidden without a clipboard. */
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
