/** A real browser, Chromium, for tests. Where there is none they are skipped, and each says so in its name. */
import { type Browser, chromium } from "playwright-core";

/** Where Chromium is: `CHROMIUM` when set, else where Debian installs it, else on the path. */
function findChromium(): string | null {
  const set = Deno.env.get("CHROMIUM");
  if (set !== undefined) return set;
  const folders = ["/usr/bin", ...(Deno.env.get("PATH") ?? "").split(":")];
  return folders.map((folder) => `${folder}/chromium`).find(isFile) ?? null;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

const executablePath = findChromium();

const OPTIONS = [
  // Those who run tests in a container are root, whom Chromium's own sandbox refuses.
  "--no-sandbox",
  // Whatever a page asks for besides the service under test, it gets nothing.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** A test with a browser of its own; its steps share it, since starting one takes half a second. */
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
    await using browser = await chromium.launch({ executablePath, args: OPTIONS });
    await run(browser, t);
  });
}
