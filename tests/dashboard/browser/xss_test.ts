/** Text is text, whatever it looks like, on every page. */
import { assertEquals, assertMatch } from "@std/assert";
import type { Browser } from "playwright-core";
import { aHeartbeat, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { OPERATOR_KEY } from "../../support/harness/operator.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { type HostileWorld, openHostileWorld } from "./hostile_world.ts";
import { PAGES } from "./pages.ts";
import { MARKUP, PAYLOADS, STRANGE_ELEMENTS, TELL_WHEN_RUN, unnoticed } from "./payloads.ts";

browserTest(
  "each of 60 hostile texts in every field is text on every page that shows it",
  async (browser, t) => {
    await using world = await openHostileWorld(PAYLOADS);
    await t.step(
      "each would be noticed, were it put into a page as it is",
      () => noticed(browser, world),
    );
    await using visitor = await enter(browser, world, world.h.key);
    const shown: string[] = [];
    const look: Look = async (path, status) => void shown.push(await visit(visitor, path, status));
    await t.step("pages about everything", async () => {
      for (const { path, who, status } of PAGES) {
        if (who === "admin") await look(path(world), status);
      }
    });
    await t.step("pages about one thing", () => lookAtEach(world, look));
    await t.step("what is asked for is said again", () => askForEach(look));
    await t.step("what comes in while somebody looks", () => watchComingIn(visitor, world));
    await t.step("pages of the operator", async () => {
      await using operator = await enter(browser, world, OPERATOR_KEY);
      for (const { path, who } of PAGES) if (who === "operator") await visit(operator, path(world));
    });
    await t.step("all of it was to be read somewhere", () => {
      const all = shown.join("\n");
      assertEquals(PAYLOADS.filter((text) => !all.includes(text)), []);
    });
  },
);

/** Somebody who signed in, in whose pages a payload that is run tells of it. */
async function enter(browser: Browser, { h }: HostileWorld, key: string): Promise<BrowserSession> {
  const visitor = await BrowserSession.open(browser, h.url);
  await visitor.page.addInitScript(TELL_WHEN_RUN);
  await visitor.signIn(key);
  return visitor;
}

/** That what follows could fail. */
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

/** Goes to a page and remembers its text. */
type Look = (path: string, status?: number | null) => Promise<void>;

async function lookAtEach({ texts }: HostileWorld, look: Look): Promise<void> {
  for (const [text, run] of texts) {
    await look(`/dashboard/runs/${run}`);
    await look(`/dashboard/agents/${encodeURIComponent(text)}`);
  }
}

/** A page that is followed puts in by script what it is sent. */
async function watchComingIn(visitor: BrowserSession, { h }: HostileWorld): Promise<void> {
  const { page } = visitor;
  await page.goto("/dashboard/runs?live=1&limit=200");
  h.nowMs += 60_000;
  for (const [n, text] of PAYLOADS.entries()) {
    const body = aHeartbeat(1_000 + n, { agent: text, customer_id: text, feature: text });
    assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
  }
  await page.locator(`[id="${runId(999 + PAYLOADS.length)}"]`).waitFor();
  await check(visitor, "what came in");
}

/** Parameters of pages, also of those that are not theirs. */
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

async function askForEach(look: Look): Promise<void> {
  for (const [n, text] of PAYLOADS.entries()) {
    const query = new URLSearchParams(NAMES.map((name) => [name, text]));
    // Both make their fields and their messages by the same parts.
    await look(`/dashboard/${n % 2 === 0 ? "runs" : "spend"}?${query}`, null);
  }
}

/**
 * Goes to a page and looks for anything that is not of our making; answers its text.
 *
 * @param status that it must have; null for any
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
  assertEquals(page.url(), new URL(path, page.url()).href, "it leads nowhere");
  return await page.evaluate<string>("document.body.textContent");
}

/** Fails where a page holds anything that is not of our making, or did what it should not. */
async function check(visitor: BrowserSession, where: string): Promise<void> {
  assertEquals(await visitor.page.evaluate(STRANGE_ELEMENTS), [], where);
  const faults = visitor.faults.splice(0);
  assertEquals(faults.filter((fault) => !/with a status of 4\d\d/.test(fault)), [], where);
}
