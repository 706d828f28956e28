/** The real service, killed and started again while clients use it. */
import { assertEquals } from "@std/assert";
import { Process, type Settings } from "../../support/harness/process.ts";

/** Always `await using`. */
export class Service implements AsyncDisposable {
  kills = 0;
  readonly #settings: Settings;
  #process: Promise<Process>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#process = Process.start(settings);
  }

  /** Where it listens, once it does. */
  async url(): Promise<string> {
    return (await this.#process).url;
  }

  /** Ends it with kill -9 and starts another on the same file; whoever asks for it waits. */
  killAndStart(): void {
    this.#process = this.#process.then(async (process) => {
      assertEquals((await process.stop("SIGKILL")).signal, "SIGKILL");
      this.kills++;
      return await Process.start(this.#settings);
    });
  }

  /** Ends it as an operator does. */
  async stop(): Promise<void> {
    assertEquals((await (await this.#process).stop("SIGTERM")).code, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Whatever kept it from starting was told to those who asked for it.
    const process = await this.#process.catch(() => null);
    await process?.[Symbol.asyncDispose]();
  }
}
