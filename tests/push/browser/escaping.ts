/** Looks for hostile texts on every page: they must stay text. */
import { assertEquals, assertMatch } from "@std/assert";
import type { Browser } from "playwright-core";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { type HostileWorld, openHostileWorld } from "./hostile_world.ts";
import { PAGES } from "./pages.ts";
import { MARKUP, STRANGE_ELEMENTS, TELL_WHEN_RUN, unnoticed } from "./payloads.ts";

/** Stores texts in every field and checks each page that shows them. */
export async function checkEscaping(
  browser: Browser,
  t: Deno.TestContext,
  texts: readonly string[],
): Promise<void> {
  await using world = await openHostileWorld(texts);
  await t.step(
    "each would be detected if inserted unescaped",
    () => noticed(browser, world),
  );
  await using visitor = await enter(browser, world, world.h.key);
  const pages: string[] = [];
  const open: OpenPage = async (path, status) =>
    void pages.push(await visit(visitor, path, status));
  await t.step("pages about everything", async () => {
    for (const { path, role, status } of PAGES) {
      if (role === "admin") await open(path(world), status);
    }
  });
  await t.step("pages of one resource", () => openEach(world, open));
  await t.step("parameters that pages repeat", () => askForEach(world, open));
  await t.step("runs that arrive on a live page", () => watchComingIn(visitor, world));
  await t.step("pages of the operator", async () => {
    await using operator = await enter(browser, world, OPERATOR_KEY);
    for (const { path, role } of PAGES) {
      if (role === "operator") await visit(operator, path(world));
    }
  });
  await t.step("each text was shown on some page", () => {
    const all = pages.join("\n");
    assertEquals(texts.filter((text) => !all.includes(text)), []);
  });
}

/** Signs in; executed payloads are reported in the session. */
async function enter(browser: Browser, { h }: HostileWorld, key: string): Promise<BrowserSession> {
  const visitor = await BrowserSession.open(browser, h.url);
  await visitor.page.addInitScript(TELL_WHEN_RUN);
  await visitor.signIn(key);
  return visitor;
}

/** Checks that the detection works. */
async function noticed(browser: Browser, { h }: HostileWorld): Promise<void> {
  await using visitor = await BrowserSession.open(browser, h.url);
  const { page, faults } = visitor;
  await page.addInitScript(TELL_WHEN_RUN);
  await page.goto("/dashboard/sign-in");
  assertEquals(await page.evaluate(unnoticed(MARKUP)), []);
  const signs = [
    [
      "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=pwn()>')",
      /forbidden: script/,
    ],
    ["pwn()", /payload was run/],
    ["alert(1)", /dialog: 1/],
    ["fetch('//evil.example/').catch(() => {})", /forbidden: connect-src/],
  ] as const;
  for (const [script, sign] of signs) {
    faults.length = 0;
    await page.evaluate(`void ${script}`);
    for (let frames = 0; frames < 100 && !sign.test(faults.join("\n")); frames++) {
      await page.evaluate("new Promise(requestAnimationFrame)");
    }
    assertMatch(faults.join("\n"), sign);
  }
}

/** Opens a page and records its text. */
type OpenPage = (path: string, status?: number | null) => Promise<void>;

async function openEach({ texts }: HostileWorld, open: OpenPage): Promise<void> {
  for (const [text, run] of texts) {
    await open(`/dashboard/runs/${run}`);
    await open(`/dashboard/agents/${encodeURIComponent(text)}`);
  }
}

/** Checks runs that a live page inserts by script. */
async function watchComingIn(visitor: BrowserSession, { h, texts }: HostileWorld): Promise<void> {
  const { page } = visitor;
  await page.goto("/dashboard/runs?live=1&limit=200");
  h.nowMs += 60_000;
  for (const [n, text] of [...texts.keys()].entries()) {
    const body = aHeartbeat(1_000 + n, { agent: text, customer_id: text, feature: text });
    assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
  }
  await page.locator(`[id="${runId(999 + texts.size)}"]`).waitFor();
  // A busy service refuses a reload with 503; the page sends the next one.
  visitor.faults.splice(0, Infinity, ...visitor.faults.filter((fault) => !/\b503\b/.test(fault)));
  await check(visitor, "what came in");
}

/** Parameters of pages, including some that a page does not have. */
const NAMES = [
  "agent",
  "status",
  "customer_id",
  "feature",
  "model",
  "provider",
  "q",
  "cursor",
  "group_by",
];

async function askForEach({ texts }: HostileWorld, open: OpenPage): Promise<void> {
  for (const [n, text] of [...texts.keys()].entries()) {
    const query = new URLSearchParams(NAMES.map((name) => [name, text]));
    // Each text goes to one of the two pages, which build their fields and messages with the same
    // components.
    await open(`/dashboard/${n % 2 === 0 ? "runs" : "spend"}?${query}`, null);
  }
}

/**
 * Opens a page and checks it for foreign elements; returns its text.
 *
 * @param status expected status; null for any
 */
async function visit(
  visitor: BrowserSession,
  path: string,
  status: number | null = 200,
): Promise<string> {
  const { page } = visitor;
  const answer = await page.goto(path);
  if (status !== null) assertEquals(answer?.status(), status, path);
  await page.evaluate("document.querySelectorAll('details').forEach((part) => part.open = true)");
  await check(visitor, path);
  assertEquals(page.url(), new URL(path, page.url()).href, "it does not redirect");
  return await page.evaluate<string>("document.body.textContent");
}

/** Fails if a page contains a foreign element or reported a fault. */
async function check(visitor: BrowserSession, where: string): Promise<void> {
  assertEquals(await visitor.page.evaluate(STRANGE_ELEMENTS), [], where);
  const faults = visitor.faults.splice(0);
  assertEquals(faults.filter((fault) => !/with a status of 4\d\d/.test(fault)), [], where);
}
