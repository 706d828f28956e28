/** Real browser tests with Chromium. Without Chromium they are skipped, and their names say so. */
import { type Browser, chromium } from "playwright-core";
import { isInstalled } from "./commands.ts";

/** Finds Chromium: `CHROMIUM` if set, then Debian's path, then the search path. */
function findChromium(): string | null {
  const set = Deno.env.get("CHROMIUM");
  if (set !== undefined) return set;
  const folders = ["/usr/bin", ...(Deno.env.get("PATH") ?? "").split(":")];
  return folders.map((folder) => `${folder}/chromium`).find(isInstalled) ?? null;
}

const executablePath = findChromium();

/** Milliseconds after which a browser hangs: a busy machine takes a tenth of it for a page. */
export const HANGS_MS = 120_000;

const OPTIONS = [
  // Tests in a container run as root, which Chromium's own sandbox refuses.
  "--no-sandbox",
  // Blocks every request of a page except those to the service under test.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/**
 * Defines a test with a separate browser; its steps share it, since a start takes half a second.
 */
export function browserTest(
  name: string,
  run: (browser: Browser, t: Deno.TestContext) => Promise<void>,
): void {
  if (executablePath === null) {
    const reason = "skipped: no Chromium here; install it or set CHROMIUM";
    Deno.test({ name: `${name} (${reason})`, ignore: true, fn() {} });
    return;
  }
  Deno.test(name, async (t) => {
    await using browser = await chromium.launch({
      executablePath,
      args: OPTIONS,
      timeout: HANGS_MS,
    });
    await run(browser, t);
  });
}
