/** Looking at pages in a browser: what must hold of each of them. */
import { assert, assertEquals } from "@std/assert";
import type { Browser, Page } from "playwright-core";
import { axe } from "../../support/oracles/axe.ts";
import type { DemoWorld } from "../../support/builders/demo_world.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { BrowserSession, DESK, PHONE } from "../../support/harness/browser_session.ts";
import type { PageUnderTest, Who } from "./pages.ts";

/** Bytes of a page and everything it loads, by a browser that has nothing of it yet. */
const BYTES_MAX = 60_000;

/** Ways to look. */
const WAYS = {
  desk: DESK,
  phone: PHONE,
  plain: { ...DESK, javaScriptEnabled: false },
} as const;

/** Everybody who looks at pages, each with a window for each way to look, opened when first used. */
export class Visitors implements AsyncDisposable {
  readonly #windows = new Map<string, Promise<BrowserSession>>();

  constructor(readonly browser: Browser, readonly world: DemoWorld) {}

  /** The window of somebody; who signs in does so by the form, once. */
  window(who: Who, way: keyof typeof WAYS): Promise<BrowserSession> {
    const name = `${who} ${way}`;
    const open = this.#windows.get(name) ?? this.#open(who, way);
    this.#windows.set(name, open);
    return open;
  }

  async #open(who: Who, way: keyof typeof WAYS): Promise<BrowserSession> {
    const { url } = this.world.h;
    if (way !== "desk") {
      const storageState = await (await this.window(who, "desk")).session;
      return await BrowserSession.open(this.browser, url, { ...WAYS[way], storageState });
    }
    const visitor = await BrowserSession.open(this.browser, url, DESK);
    const key = await this.#keyOf(who);
    if (key !== null) await visitor.signIn(key);
    return visitor;
  }

  async #keyOf(who: Who): Promise<string | null> {
    const { h } = this.world;
    if (who === "reader") return await h.addKey({ kind: "api_key", scopes: ["read"] });
    return { nobody: null, admin: h.key, operator: OPERATOR_KEY }[who];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const window of this.#windows.values()) await (await window)[Symbol.asyncDispose]();
  }
}

/** All that must hold of a page. */
export async function lookAt(visitors: Visitors, target: PageUnderTest): Promise<void> {
  // Each is in a process of its own.
  const looks = await Promise.allSettled([atDesk(visitors, target), onPhone(visitors, target)]);
  for (const look of looks) if (look.status === "rejected") throw look.reason;
  await withoutScripts(visitors, target);
}

/** What must hold of a page at a desk: all that does not depend on the size of the screen too. */
async function atDesk(visitors: Visitors, target: PageUnderTest): Promise<void> {
  const visitor = await visitors.window(target.who, "desk");
  const bytes = await bytesOf(visitor.page, () => arrive(visitor, target, visitors.world));
  await inBothThemes(visitor, target, "desk");
  assert(bytes < BYTES_MAX, `${bytes} bytes`);
}

/** What must hold of it on a phone. */
async function onPhone(visitors: Visitors, target: PageUnderTest): Promise<void> {
  const visitor = await visitors.window(target.who, "phone");
  await arrive(visitor, target, visitors.world);
  assertEquals(await visitor.page.evaluate(WIDER_THAN_SCREEN), []);
  await inBothThemes(visitor, target, "phone");
}

/** Goes to a page, which stays as it was first shown. */
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
  await visitor.shot(`${name}-${where}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  assertEquals(await axe(page, ["color-contrast", "link-in-text-block"]), []);
  if (where === "desk") await visitor.shot(`${name}-${where}-dark`);
  // Chromium says so itself where a page is one of a refusal.
  visitor.assertCalm(status === 200 ? undefined : new RegExp(`with a status of ${status}`));
}

/** Without scripts it says the same. */
async function withoutScripts(visitors: Visitors, target: PageUnderTest): Promise<void> {
  const scripted = await visitors.window(target.who, "desk");
  const plain = await visitors.window(target.who, "plain");
  await plain.page.goto(target.path(visitors.world));
  const [more, less] = await Promise.all([linesOf(scripted.page), linesOf(plain.page)]);
  const missing = more.filter((line) => !less.includes(line) && line !== "Copy");
  // What changes from one request to the next is no fact.
  assertEquals(missing.filter((line) => !/request [0-9a-f-]{8}/.test(line)), []);
}

async function linesOf(page: Page): Promise<string[]> {
  const text = await page.locator("main").innerText();
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}

/** How many bytes come over the line meanwhile, headers and all, when nothing was kept of earlier. */
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

/** What moved on the screen after it was shown first, once two frames were drawn. */
export const WHAT_MOVED = `new Promise((tell) => {
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
    tell(moved);
  }));
})`;

/**
 * What reaches beyond the right edge: tables that fold on a phone, and the innermost of what has the page
 * as a whole moved sideways.
 */
export const WIDER_THAN_SCREEN = `(() => {
  const unfolded = [...document.querySelectorAll(".wide:has(table.folding)")]
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
