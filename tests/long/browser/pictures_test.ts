/**
 * Holds the README's pictures to the pages that they show, by the words on them. After a change of
 * these pages, take them again:
 * `SCREENSHOTS=$PWD/docs/images deno task test tests/long/browser/pictures_test.ts`.
 */
import { assert, assertEquals } from "@std/assert";
import { openSampleWorld } from "../../support/builders/sample_world.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";

const ROOT = new URL("../../../", import.meta.url);

const IMAGES = new URL("docs/images/", ROOT);

/** Words on the pages when the pictures were taken, by picture. */
const WORDS = new URL("words.json", IMAGES);

const isTaken = `${Deno.env.get("SCREENSHOTS")}/` === IMAGES.pathname;

const BYTES_MAX = 250 * 1024;

browserTest("the README's pictures show the pages of today, and are small", async (browser) => {
  await using h = await openSampleWorld();
  await h.worker.idle();
  await using visitor = await BrowserSession.open(browser, h.url);
  await visitor.signIn(h.key);
  const { runs: [failed] } = (await h.get("/v1/runs?agent=support-crew&status=failed")).json;
  const { events } = (await h.get(`/v1/runs/${failed.id}`)).json;
  const call = events.find(({ type }: { type: string }) => type === "llm_call");
  const pictures = [
    ["run", `/runs/${failed.id}?event=${call.id}`, 1_120],
    ["agents", "/agents", 760],
  ] as const;
  const words: Record<string, string[]> = {};
  for (const [name, path, height] of pictures) {
    await visitor.page.setViewportSize({ width: 1_280, height });
    const answer = await visitor.page.goto(`/dashboard${path}`);
    assertEquals(answer?.status(), 200, path);
    await visitor.shot(name, height);
    const text = await visitor.page.locator("body").innerText();
    words[name] = [...new Set(text.match(/\p{L}+/gu))].sort();
    const { size } = await Deno.stat(new URL(`${name}.png`, IMAGES));
    assert(size <= BYTES_MAX, `${name}: ${size} bytes`);
  }
  if (isTaken) await Deno.writeTextFile(WORDS, `${JSON.stringify(words, null, 2)}\n`);
  assertEquals(
    JSON.parse(await Deno.readTextFile(WORDS)),
    words,
    "pages have changed: take the pictures again",
  );
  const shown = Deno.readTextFileSync(new URL("README.md", ROOT)).matchAll(/images\/(\w+)\.png/g);
  assertEquals([...shown].map(([, name]) => name).sort(), pictures.map(([name]) => name).sort());
});
