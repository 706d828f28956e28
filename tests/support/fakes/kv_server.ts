/** A shared KV that can lose answers and be slow: the engine of `denokv` behind a proxy. */
import { KvProcess } from "./denokv.ts";
import { KvProxy } from "./kv_proxy.ts";
import { fixture } from "../harness/fixture.ts";

/** The fate of a stored commit's answer: sent, broken off, or an error. */
export type CommitAnswer = "sent" | "lost" | "unavailable";

/** Behaviour of a server; the test may change it at any time. */
interface KvServerKnobs {
  /** Round trip, milliseconds. */
  delayMs: number;
  answer: () => CommitAnswer | Promise<CommitAnswer>;
  /** Requests that get no answer: none, all after a client has opened the database, or all. */
  hangs: "none" | "calls" | "all";
}

/** A running server, whose databases are in memory. Always `await using`. */
export class KvServer implements AsyncDisposable {
  static readonly test = fixture(() => KvServer.start());

  readonly knobs: KvServerKnobs = { delayMs: 0, answer: () => "sent", hangs: "none" };
  readonly #process: KvProcess;
  readonly #proxy: KvProxy;

  private constructor(process: KvProcess) {
    this.#process = process;
    this.#proxy = new KvProxy(() => process.origin, {
      delayMs: () => this.knobs.delayMs,
      fate: () => this.knobs.answer(),
      hangs: (kind) =>
        this.knobs.hangs === "all" || this.knobs.hangs === "calls" && kind !== "other",
    });
  }

  static async start(): Promise<KvServer> {
    return new KvServer(await KvProcess.start(null, null));
  }

  /** Requests so far, and commits whose answer was not sent. */
  get counts(): KvProxy["counts"] {
    return this.#proxy.counts;
  }

  url(database = "test"): string {
    return `${this.#proxy.origin}/db/${database}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await this.#process[Symbol.asyncDispose]();
  }
}
