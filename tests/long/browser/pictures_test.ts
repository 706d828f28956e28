/**
 * Takes the README's pictures, to replace them after a change of the pages:
 * `SCREENSHOTS=$PWD/docs/images deno task test tests/long/browser/pictures_test.ts`.
 */
import { assert, assertEquals } from "@std/assert";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { openDemoWorld } from "../../support/builders/demo_world.ts";

const ROOT = new URL("../../..", import.meta.url);

const BYTES_MAX = 150 * 1024;

type Picture = [name: string, path: string, width?: number, colorScheme?: "dark" | "light"];

browserTest("the README's pictures can be taken again, and are small", async (browser) => {
  await using world = await openDemoWorld();
  await using visitor = await BrowserSession.open(browser, world.h.url);
  await visitor.signIn(world.h.key);
  const { page } = visitor;
  const pictures: Picture[] = [
    ["overview", ""],
    ["run", `/runs/${world.runs.failed}`],
    ["spend", "/spend"],
    ["runs", "/runs", 1280, "dark"],
    ["phone", "/runs", 375],
  ];
  for (const [name, path, width = 1280, colorScheme = "light"] of pictures) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    const answer = await page.goto(`/dashboard${path}`);
    assertEquals(answer?.status(), 200, path);
    await visitor.shot(name, 900);
    const { size } = await Deno.stat(new URL(`docs/images/${name}.png`, ROOT));
    assert(size <= BYTES_MAX, `${name}: ${size} bytes; reduce it to 256 colors`);
  }
  const shown = Deno.readTextFileSync(new URL("README.md", ROOT)).matchAll(/images\/(\w+)\.png/g);
  assertEquals([...shown].map(([, name]) => name).sort(), pictures.map(([name]) => name).sort());
});
