/** Escaping: each hostile text stays text on every page. */
import { checkEscaping } from "../../push/browser/escaping.ts";
import { PAYLOADS } from "../../push/browser/payloads.ts";
import { browserTest } from "../../support/harness/browser.ts";

browserTest(
  "each of 60 hostile texts in every field is escaped on every page that shows it",
  (browser, t) => checkEscaping(browser, t, PAYLOADS),
);
