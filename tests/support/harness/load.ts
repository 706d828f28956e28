/** Clients that write every kind of call in parallel, and remember their requests and responses. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Call, EVENTS, type Script, scriptOf } from "../builders/scripts.ts";
import type { Access } from "../oracles/totals.ts";
import { emptyCounts, type PartCounts, storedPartsOf, verifyRun } from "../oracles/verify.ts";

const CLIENTS = 16;

/** Pause of a client after a refusal, if it continues at all. */
const REFUSED_MS = 20;

/** Maximum milliseconds for a process to finish another's work: the lease's length and some work. */
const FINAL_MS_MAX = 60_000;

/** Maximum milliseconds in which reads are refused; one is refused after 2 s. */
const READ_MS_MAX = 30_000;

/** Maximum milliseconds to wait for certain responses; far more than they take. */
const UNTIL_MS_MAX = 60_000;

/** Outcome of a call; `gone` if the server became unreachable, so that the outcome is unknown. */
type Outcome = "acknowledged" | "refused" | "gone";

/** Conditions, other than an unreachable server, under which clients stop. */
interface Ends {
  readonly runs?: number;
  /** Stops the clients. With it a refusal ends no client: it skips that run and starts the next. */
  readonly until?: AbortSignal;
  /** True if other instances serve the same address, so that an unreachable one ends no client. */
  readonly several?: boolean;
}

/** Load that several clients put on a server until it becomes unreachable. */
export class Load {
  readonly scripts: Script[] = [];
  acknowledged = 0;
  /** Refusals by code; all were well-formed. */
  readonly refusals: Record<string, number> = {};
  /** First calls that were answered as repeated ones. */
  readonly misanswered: string[] = [];
  isOver = false;
  #waiting: { readonly wanted: (load: Load) => boolean; readonly resolve: () => void }[] = [];

  /**
   * @param first number of the first run; loads on one store must not overlap
   * @param model named by some of the events; it has no price at first
   */
  constructor(readonly first: number, readonly model = "a-model-without-a-price") {}

  /** Creates a load of `runs` runs, all of them acknowledged. */
  static acknowledged(first: number, model: string, runs: number): Load {
    const load = new Load(first, model);
    for (let n = 0; n < runs; n++) {
      const script = scriptOf(first + n, model);
      for (const call of script.calls) call.state = "acknowledged";
      load.scripts.push(script);
    }
    return load;
  }

  get refused(): number {
    return Object.values(this.refusals).reduce((sum, count) => sum + count, 0);
  }

  /** Writes until the server refuses a call or becomes unreachable, or as {@link Ends} says. */
  async run(access: Access, { runs = Infinity, until, several }: Ends = {}): Promise<void> {
    const writing = each(async (client) => {
      while (this.scripts.length < runs && !until?.aborted) {
        const next = scriptOf(this.first + this.scripts.length, this.model);
        this.scripts.push(next);
        const outcome = await this.#sendUnacknowledged(client, access, next);
        if (outcome === "acknowledged") continue;
        if (until === undefined || outcome === "gone" && !several) return;
        await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
      }
    });
    await writing.finally(() => {
      this.isOver = true;
      this.#notify();
    });
  }

  /** Resolves when `count` calls are acknowledged. */
  async reached(count: number): Promise<void> {
    await this.until(({ acknowledged }) => acknowledged >= count);
  }

  /** Resolves when a condition is true; fails if it never is. */
  async until(wanted: (load: Load) => boolean): Promise<void> {
    if (wanted(this)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ wanted, resolve });
    const never = new Error(
      `The condition ${wanted} never held, with ${this.acknowledged} acknowledged calls`,
    );
    const timer = setTimeout(reject, UNTIL_MS_MAX, never);
    await promise.finally(() => clearTimeout(timer));
  }

  #notify(): void {
    this.#waiting = this.#waiting.filter(({ wanted, resolve }) => {
      if (!wanted(this)) return true;
      resolve();
      return false;
    });
  }

  /**
   * Resends unacknowledged calls and sends the remaining ones; returns their number.
   *
   * @param attempts maximum attempts of each run
   */
  async resend(access: Access, attempts = 1): Promise<number> {
    const unfinished = this.scripts.filter(({ calls }) => calls.some(isUnacknowledged));
    const sent = unfinished.reduce(
      (sum, { calls }) => sum + calls.filter(isUnacknowledged).length,
      0,
    );
    await eachOf(unfinished, async (client, script) => {
      let outcome = await this.#sendUnacknowledged(client, access, script);
      for (let attempt = 1; outcome !== "acknowledged" && attempt < attempts; attempt++) {
        await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
        outcome = await this.#sendUnacknowledged(client, access, script);
      }
      assertEquals(outcome, "acknowledged", `a retry of ${script.id} was not accepted`);
    });
    return sent;
  }

  /**
   * Reads every run with an acknowledged close until its cost is final, without writing. Returns
   * their number.
   */
  async untilFinal(access: Access): Promise<number> {
    const closed = this.scripts.filter(({ calls }) => calls.at(-1)?.state === "acknowledged");
    const startedMs = performance.now();
    await eachOf(closed, async (client, { id }) => {
      while ((await read(client, access, id))?.cost.state !== "final") {
        assert(performance.now() - startedMs < FINAL_MS_MAX, `${id} is still not final`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    return closed.length;
  }

  /** Compares every run of the server with its client's responses. */
  async verify(access: Access): Promise<PartCounts> {
    const counts = emptyCounts();
    await eachOf(this.scripts, async (client, script) => {
      verifyRun(storedPartsOf(await read(client, access, script.id)), script, counts);
    });
    return counts;
  }

  /** Sends a run's unacknowledged calls, up to the first that fails. */
  async #sendUnacknowledged(
    client: Deno.HttpClient,
    access: Access,
    { calls }: Script,
  ): Promise<Outcome> {
    for (const call of calls.filter(isUnacknowledged)) {
      const outcome = await this.#send(client, access, call);
      if (outcome !== "acknowledged") return outcome;
    }
    return "acknowledged";
  }

  async #send(client: Deno.HttpClient, { url, key }: Access, call: Call): Promise<Outcome> {
    const isFirst = call.state === "unsent";
    call.state = "sent";
    let response: Response, text: string;
    try {
      response = await fetch(url + call.path, {
        client,
        headers: { Authorization: `Bearer ${key}` },
        ...(call.body === null ? {} : { method: "POST", body: JSON.stringify(call.body) }),
      });
      text = await response.text();
    } catch (error) {
      // The process has ended: it may or may not have stored the call.
      if (error instanceof TypeError) return "gone";
      throw error;
    }
    if (isFirst && isRepeated(call, response, text)) {
      this.misanswered.push(`${call.path}: ${response.status} ${text}`);
    }
    return this.#answered(call, response, text);
  }

  #answered(call: Call, { status, headers }: Response, text: string): Outcome {
    if (status === 503) {
      const code = codeOf(call, text);
      assertMatch(code, /^[a-z_]+$/, text);
      assertMatch(headers.get("retry-after") ?? "", /^[1-5]$/);
      this.refusals[code] = (this.refusals[code] ?? 0) + 1;
    } else {
      assert([200, 202].includes(status), `${call.path} was answered ${status} ${text}`);
      call.state = "acknowledged";
      this.acknowledged++;
    }
    this.#notify();
    return status === 503 ? "refused" : "acknowledged";
  }
}

/** Returns the code of a refusal; a ping, the only GET, has it as the first word of its text. */
function codeOf({ body }: Call, text: string): string {
  return body === null ? text.split(" ", 1)[0] ?? "" : JSON.parse(text).error;
}

/** Returns whether a response says that the call, or a part that is new in it, was stored before. */
function isRepeated({ stores }: Call, { status, headers }: Response, text: string): boolean {
  if (headers.has("idempotent-replayed")) return true;
  if (typeof stores !== "number" || status !== 202) return false;
  const repeated = stores === EVENTS.both ? EVENTS.repeated : 0;
  return JSON.parse(text).duplicates !== repeated;
}

function isUnacknowledged({ state }: Call): boolean {
  return state !== "acknowledged";
}

/** Runs `work` as all clients in parallel. */
async function each(work: (client: Deno.HttpClient) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    using client = Deno.createHttpClient({});
    await work(client);
  }));
}

/** Distributes the items of a list among the clients. */
async function eachOf<T>(
  list: readonly T[],
  work: (client: Deno.HttpClient, one: T) => Promise<void>,
): Promise<void> {
  const next = list.values();
  await each(async (client) => {
    for (const one of next) await work(client, one);
  });
}

/** Reads a run; null if there is none. A refused read is repeated: the store may be busy. */
async function read(client: Deno.HttpClient, { url, key }: Access, id: string) {
  const headers = { Authorization: `Bearer ${key}` };
  const endMs = performance.now() + READ_MS_MAX;
  for (;;) {
    const response = await fetch(`${url}/v1/runs/${id}?events_limit=100`, { client, headers });
    const json = await response.json();
    if (response.status === 503 && performance.now() < endMs) continue;
    assert([200, 404].includes(response.status), `${id}: ${response.status}`);
    return response.status === 200 ? json : null;
  }
}
