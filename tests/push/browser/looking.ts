/** Checks that every page must pass in a browser. */
import { assert, assertEquals } from "@std/assert";
import type { Browser, Page } from "playwright-core";
import { axe } from "../../support/oracles/axe.ts";
import type { DemoWorld } from "../../support/builders/demo_world.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import type { PageUnderTest, Role } from "./pages.ts";

/** Maximum bytes of a page and everything it loads, without a cache. */
const BYTES_MAX = 60_000;

/** True to take pictures of the pages that are checked. */
const TAKES_PICTURES = Deno.env.get("RUNLEDGER_TEST_PICTURES") === "1";

/** Browser setups. */
const WAYS = {
  desk: DESK,
  phone: PHONE,
  plain: { ...DESK, javaScriptEnabled: false },
} as const;

/** Browser sessions by role and setup, opened on first use. */
export class Visitors implements AsyncDisposable {
  readonly #windows = new Map<string, Promise<BrowserSession>>();

  constructor(readonly browser: Browser, readonly world: DemoWorld) {}

  /** Returns the session of a role; a role with a key signs in by the form, once. */
  window(role: Role, way: keyof typeof WAYS): Promise<BrowserSession> {
    const name = `${role} ${way}`;
    const open = this.#windows.get(name) ?? this.#open(role, way);
    this.#windows.set(name, open);
    return open;
  }

  async #open(role: Role, way: keyof typeof WAYS): Promise<BrowserSession> {
    const { url } = this.world.h;
    if (way !== "desk") {
      const storageState = await (await this.window(role, "desk")).session;
      return await BrowserSession.open(this.browser, url, { ...WAYS[way], storageState });
    }
    const visitor = await BrowserSession.open(this.browser, url, DESK);
    const key = await this.#keyOf(role);
    if (key !== null) await visitor.signIn(key);
    return visitor;
  }

  async #keyOf(role: Role): Promise<string | null> {
    const { h } = this.world;
    if (role === "reader") return await h.addKey({ kind: "api_key", scopes: ["read"] });
    return { anonymous: null, admin: h.key, operator: OPERATOR_KEY }[role];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const window of this.#windows.values()) await (await window)[Symbol.asyncDispose]();
  }
}

/** Runs all checks of a page. */
export async function checkPage(visitors: Visitors, target: PageUnderTest): Promise<void> {
  // Each session has a process of its own.
  const results = await Promise.allSettled([atDesk(visitors, target), onPhone(visitors, target)]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  await withoutScripts(visitors, target);
}

/** Checks a page on a desktop, including everything that does not depend on the screen size. */
export async function atDesk(visitors: Visitors, target: PageUnderTest): Promise<void> {
  const visitor = await visitors.window(target.role, "desk");
  const bytes = await bytesOf(visitor.page, () => arrive(visitor, target, visitors.world));
  assertEquals(await visitor.page.evaluate(NO_CELLS), []);
  await inBothThemes(visitor, target, "desk");
  assert(bytes < BYTES_MAX, `${bytes} bytes`);
}

/** Checks a page on a phone. */
async function onPhone(visitors: Visitors, target: PageUnderTest): Promise<void> {
  const visitor = await visitors.window(target.role, "phone");
  await arrive(visitor, target, visitors.world);
  assertEquals(await visitor.page.evaluate(OVERFLOW), []);
  await inBothThemes(visitor, target, "phone");
}

/** Opens a page and checks that its layout does not shift. */
async function arrive(
  visitor: BrowserSession,
  target: PageUnderTest,
  world: DemoWorld,
): Promise<void> {
  const { page, faults } = visitor;
  faults.length = 0;
  await page.emulateMedia({ colorScheme: "light" });
  const answer = await page.goto(target.path(world));
  assertEquals(answer?.status(), target.status ?? 200);
  assertEquals(await page.evaluate(WHAT_MOVED), []);
}

async function inBothThemes(
  visitor: BrowserSession,
  { name, status = 200 }: PageUnderTest,
  where: string,
): Promise<void> {
  const { page } = visitor;
  assertEquals(await axe(page), []);
  if (TAKES_PICTURES) await visitor.shot(`${name}-${where}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  assertEquals(await axe(page, ["color-contrast", "link-in-text-block"]), []);
  if (TAKES_PICTURES && where === "desk") await visitor.shot(`${name}-${where}-dark`);
  // Chromium itself logs an error for a page with an error status.
  visitor.assertCalm(status === 200 ? undefined : new RegExp(`with a status of ${status}`));
}

/** Buttons that need a script: without one, links do the same, or nothing is folded or zoomed. */
const ONLY_WITH_SCRIPTS: ReadonlySet<string> = new Set(["Copy", "Collapse all", "Zoom to steps"]);

/** Checks that the page has the same text without scripts. */
async function withoutScripts(visitors: Visitors, target: PageUnderTest): Promise<void> {
  const scripted = await visitors.window(target.role, "desk");
  const plain = await visitors.window(target.role, "plain");
  await plain.page.goto(target.path(visitors.world));
  const [more, less] = await Promise.all([linesOf(scripted.page), linesOf(plain.page)]);
  // A page that reloads itself would abort the next navigation.
  await plain.page.goto("about:blank");
  const missing = more.filter((line) => !less.includes(line) && !ONLY_WITH_SCRIPTS.has(line));
  // Request ids differ between two requests.
  assertEquals(missing.filter((line) => !/request [0-9a-f-]{8}/.test(line)), []);
}

async function linesOf(page: Page): Promise<string[]> {
  const text = await page.locator("main").innerText();
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

/** Counts the bytes received during `load`, including headers, with the cache disabled. */
async function bytesOf(page: Page, load: () => Promise<void>): Promise<number> {
  const network = await page.context().newCDPSession(page);
  let bytes = 0;
  network.on(
    "Network.loadingFinished",
    ({ encodedDataLength }) => void (bytes += encodedDataLength),
  );
  await network.send("Network.enable");
  await network.send("Network.setCacheDisabled", { cacheDisabled: true });
  await load();
  await network.detach();
  return bytes;
}

/** Reports layout shifts up to the second frame. */
export const WHAT_MOVED = `new Promise((resolve) => {
  const moved = [];
  const add = (shifts) => {
    for (const { value, sources } of shifts) {
      moved.push(value + ": " + sources.map(({ node, previousRect, currentRect }) =>
        (node?.outerHTML ?? node?.textContent ?? "").slice(0, 120) + " from " +
        JSON.stringify(previousRect) + " to " + JSON.stringify(currentRect)).join(", "));
    }
  };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => {
    add(observer.takeRecords());
    resolve(moved);
  }));
})`;

/** Reports cells of tables that another rule of the style sheet lays out differently. */
const NO_CELLS = `[...document.querySelectorAll("td, th")]
  .filter((cell) => cell.checkVisibility() && getComputedStyle(cell).display !== "table-cell")
  .map((cell) => cell.outerHTML.slice(0, 120))`;

/**
 * Reports overflow at the right edge: tables that should fold on a phone, or the innermost elements
 * that make the page scroll sideways.
 */
export const OVERFLOW = `(() => {
  const unfolded = [...document.querySelectorAll(".wide:has(table.fold)")]
    .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
  if (innerWidth < 600 && unfolded.length > 0) {
    return unfolded.map(({ scrollWidth, clientWidth, ariaLabel }) =>
      ariaLabel + ": " + scrollWidth + " > " + clientWidth);
  }
  if (document.documentElement.scrollWidth <= screen.width) return [];
  const isWide = (element) =>
    element.getBoundingClientRect().right > screen.width && !element.closest(".wide, pre");
  const wide = [...document.querySelectorAll("body *")].filter(isWide);
  return ["the page", ...wide.filter((element) => ![...element.children].some(isWide))
    .map((element) => element.outerHTML.slice(0, 120))];
})()`;
