/** A browser session that records every error in it. */
import { assertEquals } from "@std/assert";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { HANGS_MS } from "./browser.ts";

/** A large screen. */
export const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 900 } };

/** A phone in portrait mode. */
export const PHONE: BrowserContextOptions = {
  viewport: { width: 375, height: 812 },
  isMobile: true,
  hasTouch: true,
};

/** Maximum height of a screenshot in pixels, for very long pages. */
const SHOT_HEIGHT_MAX = 2_500;

/** Folder for screenshots, which CI keeps. */
const OUTPUT = Deno.env.get("SCREENSHOTS") ??
  new URL("../../push/browser/output/", import.meta.url).pathname;

/** Makes a browser log the violations of its content policy. */
const LOG_VIOLATIONS = `addEventListener("securitypolicyviolation", (event) =>
  console.error("forbidden: " + event.violatedDirective + " " + event.blockedURI));`;

/** One person's browser with one page open. Always `await using`. */
export class BrowserSession implements AsyncDisposable {
  readonly page: Page;
  /** Errors and unexpected events, as text. */
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
   * Opens a separate browser window without cookies.
   *
   * @param url address of the service; a request to any other is a fault
   */
  static async open(
    browser: Browser,
    url: string,
    options: BrowserContextOptions = DESK,
  ): Promise<BrowserSession> {
    const context = await browser.newContext({
      baseURL: url,
      // Colors are checked after transitions, so there are none.
      reducedMotion: "reduce",
      ...options,
    });
    context.setDefaultTimeout(HANGS_MS);
    await context.addInitScript(LOG_VIOLATIONS);
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
      // Leaving a page cancels its open requests.
      if (why !== "net::ERR_ABORTED") fault(`request: ${request.url()} ${why}`);
    });
  }

  /** Signs in by the form, and waits for the first page. */
  async signIn(key: string): Promise<void> {
    await this.page.goto("/dashboard/sign-in");
    await this.page.getByLabel("Team key").fill(key);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.getByRole("navigation", { name: "Pages" }).waitFor();
    await this.page.waitForLoadState();
  }

  /** State that keeps this person signed in, for another window. */
  get session(): ReturnType<BrowserContext["storageState"]> {
    return this.#context.storageState();
  }

  /** Fails if any fault except the expected ones occurred. */
  assertCalm(expected?: RegExp): void {
    const faults = this.faults.filter((text) => expected === undefined || !expected.test(text));
    assertEquals(faults, []);
  }

  /** Saves a screenshot of the top of the page. */
  async shot(name: string, heightMax = SHOT_HEIGHT_MAX): Promise<void> {
    const size = await this.page.evaluate<{ width: number; height: number }>(
      "({ width: innerWidth, height: document.documentElement.scrollHeight })",
    );
    const clip = { x: 0, y: 0, width: size.width, height: Math.min(size.height, heightMax) };
    const take = () =>
      this.page.screenshot({ path: `${OUTPUT}/${name}.png`, fullPage: true, clip });
    // On a busy machine Chromium may fail to capture a frame; a second attempt works.
    await take().catch((error: Error) => {
      if (!error.message.includes("Unable to capture screenshot")) throw error;
      return take();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
