/** Somebody with a browser, and everything that goes wrong in it. */
import { assertEquals } from "@std/assert";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";

/** A large screen. */
export const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 900 } };

/** A phone held upright. */
export const PHONE: BrowserContextOptions = {
  viewport: { width: 375, height: 812 },
  isMobile: true,
  hasTouch: true,
};

/** Pixels of a screenshot from top to bottom, for pages that are very long. */
const SHOT_HEIGHT_MAX = 2_500;

/** Where screenshots go; CI keeps what is there. */
const OUTPUT = Deno.env.get("SCREENSHOTS") ??
  new URL("../../dashboard/browser/output/", import.meta.url).pathname;

/** Has a browser say in its console what its policy forbade. */
const TELL_VIOLATIONS = `addEventListener("securitypolicyviolation", (event) =>
  console.error("forbidden: " + event.violatedDirective + " " + event.blockedURI));`;

/** One person's browser with one page open. Always `await using`. */
export class BrowserSession implements AsyncDisposable {
  readonly page: Page;
  /** What went wrong or should not have happened, in words. */
  readonly faults: string[] = [];
  readonly #context: BrowserContext;
  readonly #origin: string;

  private constructor(context: BrowserContext, page: Page, url: string) {
    this.#context = context;
    this.page = page;
    this.#origin = new URL(url).origin;
    this.#watch();
  }

  /**
   * Opens a browser window of its own, without cookies.
   *
   * @param url of the service; whatever is asked of any other is a fault
   */
  static async open(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = DESK,
  ): Promise<BrowserSession> {
    const context = await browser.newContext({
      baseURL: url,
      // Colours are looked at when they are what they become.
      reducedMotion: "reduce",
      ...options,
    });
    context.setDefaultTimeout(10_000);
    await context.addInitScript(TELL_VIOLATIONS);
    return new BrowserSession(context, await context.newPage(), url);
  }

  #watch(): void {
    const fault = (text: string) => void this.faults.push(text);
    this.#context.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) {
        fault(`console: ${message.text()} (${message.location().url})`);
      }
    });
    this.#context.on("weberror", (error) => fault(`script: ${error.error()}`));
    this.#context.on("dialog", async (dialog) => {
      fault(`dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    this.#context.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.origin !== this.#origin) fault(`foreign: ${url}`);
    });
    this.#context.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      // What a page still waits for ends with the page.
      if (why !== "net::ERR_ABORTED") fault(`request: ${request.url()} ${why}`);
    });
  }

  /** Signs in by the form, and comes to the first page. */
  async signIn(key: string): Promise<void> {
    await this.page.goto("/dashboard/sign-in");
    await this.page.getByLabel("Team key").fill(key);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  /** What keeps this person signed in, for another window of theirs. */
  get session(): ReturnType<BrowserContext["storageState"]> {
    return this.#context.storageState();
  }

  /** Fails when anything went wrong so far, but for what is to be expected. */
  assertCalm(expected?: RegExp): void {
    const faults = this.faults.filter((text) => expected === undefined || !expected.test(text));
    assertEquals(faults, []);
  }

  /** Saves how the page looks, the first so many lines of it. */
  async shot(name: string): Promise<void> {
    const size = await this.page.evaluate<{ width: number; height: number }>(
      "({ width: innerWidth, height: document.documentElement.scrollHeight })",
    );
    const clip = { x: 0, y: 0, width: size.width, height: Math.min(size.height, SHOT_HEIGHT_MAX) };
    const take = () =>
      this.page.screenshot({ path: `${OUTPUT}/${name}.png`, fullPage: true, clip });
    // On a busy machine Chromium may have no picture ready; the next time it does.
    await take().catch((error: Error) => {
      if (!error.message.includes("Unable to capture screenshot")) throw error;
      return take();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
