/** The real service, killed and restarted while clients use it. */
import { assertEquals } from "@std/assert";
import { Process, type Settings } from "../../support/harness/process.ts";

/** Running service. Always `await using`. */
export class Service implements AsyncDisposable {
  kills = 0;
  readonly #settings: Settings;
  #process: Promise<Process>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#process = Process.start(settings);
  }

  /** Returns the address once the service listens. */
  async url(): Promise<string> {
    return (await this.#process).url;
  }

  /** Kills the service with kill -9 and restarts it on the same file; calls of `url` wait. */
  killAndStart(): void {
    this.#process = this.#process.then(async (process) => {
      assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
      this.kills++;
      return await Process.start(this.#settings);
    });
  }

  /** Stops the service as an operator does. */
  async stop(): Promise<void> {
    assertEquals((await (await this.#process).stop("SIGTERM")).code, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // An error of the start was already thrown to the callers of `url`.
    const process = await this.#process.catch(() => null);
    await process?.[Symbol.asyncDispose]();
  }
}
