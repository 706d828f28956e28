/** Every page in a real browser: both themes, a desk and a phone, with scripts and without. */
import { assert, assertEquals } from "@std/assert";
import type { Browser, Locator, Page } from "playwright-core";
import { axe } from "../support/axe.ts";
import { browserTest } from "../support/browser.ts";
import { type DemoWorld, openDemoWorld } from "../support/demo_world.ts";
import { Harness } from "../support/harness.ts";
import { OPERATOR_KEY } from "../support/operator.ts";
import { DESK, PHONE, Visitor } from "../support/visitor.ts";
import { pageRoutes, PAGES, type PageUnderTest, type Who } from "./pages.ts";

/** Bytes of a page and everything it loads, by a browser that has nothing of it yet. */
const BYTES_MAX = 60_000;

Deno.test("every page of the dashboard is looked at", () => {
  const looked = new Set(PAGES.map(({ route }) => route));
  assertEquals(pageRoutes().filter((route) => !looked.has(route)), []);
});

browserTest(
  "every page is right in both themes, at a desk and on a phone: accessible, quiet, still, small",
  async (browser, t) => {
    await using world = await openDemoWorld();
    await using visitors = await Visitors.open(browser, world);
    for (const page of PAGES) {
      await t.step(`${page.name} at a desk`, () => atDesk(visitors.desk(page), page, world));
      await t.step(`${page.name} on a phone`, () => onPhone(visitors.phone(page), page, world));
      await t.step(`${page.name} without scripts`, () => withoutScripts(visitors, page, world));
    }
  },
);

browserTest(
  "the keyboard alone signs in, skips to the content and goes to a page",
  async (browser) => {
    await using world = await openDemoWorld();
    await using visitor = await Visitor.open(browser, world.h.url);
    const { page } = visitor;
    await page.goto("/dashboard/sign-in");
    // The field has the focus from the start.
    await page.keyboard.type(world.h.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.keyboard.press("Tab");
    const skip = page.getByRole("link", { name: "Skip to the content" });
    assertEquals(await isFocused(skip), true);
    assert((await skip.boundingBox())!.x >= 0, "the focused link is to be seen");
    await page.keyboard.press("Enter");
    assertEquals(new URL(page.url()).hash, "#main");
    await page.goto("/dashboard");
    await tabTo(page, "Runs");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/dashboard/runs");
    visitor.assertCalm();
  },
);

browserTest("the API's page is accessible on a phone", async (browser) => {
  await using h = await Harness.open();
  await using visitor = await Visitor.open(browser, h.url, PHONE);
  await visitor.page.goto("/docs");
  assertEquals(await visitor.page.evaluate(WIDER_THAN_SCREEN), []);
  assertEquals(await axe(visitor.page), []);
  visitor.assertCalm();
});

/** Presses Tab until a link of the menu has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press("Tab");
    if (await isFocused(link)) return;
  }
  throw new Error(`${name} is not reached by Tab`);
}

async function isFocused(element: Locator): Promise<boolean> {
  return await element.and(element.page().locator(":focus")).count() === 1;
}

/** Everybody who looks at pages, each with a window for each way to look. */
class Visitors implements AsyncDisposable {
  readonly #windows: ReadonlyMap<string, Visitor>;

  private constructor(windows: ReadonlyMap<string, Visitor>) {
    this.#windows = windows;
  }

  static async open(browser: Browser, { h }: DemoWorld): Promise<Visitors> {
    const windows = new Map<string, Visitor>();
    const keys = { nobody: null, admin: h.key, operator: OPERATOR_KEY } as const;
    for (const [who, key] of Object.entries(keys)) {
      const desk = await Visitor.open(browser, h.url, DESK);
      if (key !== null) await desk.signIn(key);
      const signedIn = { storageState: await desk.session };
      windows.set(`${who} at a desk`, desk);
      windows.set(
        `${who} on a phone`,
        await Visitor.open(browser, h.url, { ...PHONE, ...signedIn }),
      );
      const plain = { ...DESK, ...signedIn, javaScriptEnabled: false };
      windows.set(`${who} without scripts`, await Visitor.open(browser, h.url, plain));
    }
    return new Visitors(windows);
  }

  desk({ who }: { who: Who }): Visitor {
    return this.#windows.get(`${who} at a desk`)!;
  }

  phone({ who }: { who: Who }): Visitor {
    return this.#windows.get(`${who} on a phone`)!;
  }

  plain({ who }: { who: Who }): Visitor {
    return this.#windows.get(`${who} without scripts`)!;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const window of this.#windows.values()) await window[Symbol.asyncDispose]();
  }
}

async function atDesk(visitor: Visitor, target: PageUnderTest, world: DemoWorld): Promise<void> {
  const bytes = await bytesOf(visitor.page, () => arrive(visitor, target, world));
  await inBothThemes(visitor, target, "desk");
  assert(bytes < BYTES_MAX, `${bytes} bytes`);
}

async function onPhone(visitor: Visitor, target: PageUnderTest, world: DemoWorld): Promise<void> {
  await arrive(visitor, target, world);
  assertEquals(await visitor.page.evaluate(WIDER_THAN_SCREEN), []);
  await inBothThemes(visitor, target, "phone");
}

/** Goes to a page, which stays as it was first shown. */
async function arrive(visitor: Visitor, target: PageUnderTest, world: DemoWorld): Promise<void> {
  const { page, faults } = visitor;
  faults.length = 0;
  await page.emulateMedia({ colorScheme: "light" });
  const answer = await page.goto(target.path(world));
  assertEquals(answer?.status(), target.status ?? 200);
  assertEquals(await page.evaluate(LAYOUT_SHIFT), 0, "what is shown moves");
}

async function inBothThemes(
  visitor: Visitor,
  { name, status = 200 }: PageUnderTest,
  where: string,
): Promise<void> {
  const { page } = visitor;
  assertEquals(await axe(page), []);
  await visitor.shot(`${name}-${where}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  assertEquals(await axe(page, ["color-contrast", "link-in-text-block"]), []);
  await visitor.shot(`${name}-${where}-dark`);
  // Chromium says so itself where a page is one of a refusal.
  visitor.assertCalm(status === 200 ? undefined : new RegExp(`with a status of ${status}`));
}

async function withoutScripts(
  visitors: Visitors,
  target: PageUnderTest,
  world: DemoWorld,
): Promise<void> {
  const [scripted, plain] = [visitors.desk(target), visitors.plain(target)];
  await plain.page.goto(target.path(world));
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

/** By how much things moved on the screen after they were shown first; once two frames were drawn. */
const LAYOUT_SHIFT = `new Promise((tell) => {
  let sum = 0;
  const add = (shifts) => { for (const { value } of shifts) sum += value; };
  const observer = new PerformanceObserver((list) => add(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => {
    add(observer.takeRecords());
    tell(Math.round(sum * 1000) / 1000);
  }));
})`;

/** What reaches beyond the right edge, when the page as a whole can be moved sideways; the innermost of it. */
const WIDER_THAN_SCREEN = `(() => {
  if (document.documentElement.scrollWidth <= screen.width) return [];
  const isWide = (element) =>
    element.getBoundingClientRect().right > screen.width && !element.closest(".wide, pre");
  const wide = [...document.querySelectorAll("body *")].filter(isWide);
  return ["the page", ...wide.filter((element) => ![...element.children].some(isWide))
    .map((element) => element.outerHTML.slice(0, 120))];
})()`;
