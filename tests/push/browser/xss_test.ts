/** Escaping: hostile text stays text on every page; `tests/long/` has all texts. */
import { browserTest } from "../../support/harness/browser.ts";
import { checkEscaping } from "./escaping.ts";
import { PAYLOADS } from "./payloads.ts";

browserTest(
  "hostile texts in every field are escaped on every page that shows them",
  (browser, t) => checkEscaping(browser, t, PAYLOADS.filter((_, n) => n % 20 === 0)),
);
