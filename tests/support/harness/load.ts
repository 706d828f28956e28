/** Clients that write every kind of call at once, and remember what they sent and were told. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Call, type Script, scriptOf } from "../builders/scripts.ts";
import type { Access } from "../oracles/totals.ts";
import { heldOf, noTally, type Tally, verifyRun } from "../oracles/verify.ts";

const CLIENTS = 16;

/** How long a client rests after a refusal, if it goes on at all. */
const REFUSED_MS = 20;

/** What a process may take to finish what another left; far more than it does. */
const SETTLED_MS_MAX = 10_000;

/** How long anybody waits for certain answers; far more than they take. */
const UNTIL_MS_MAX = 60_000;

/** What came of a call; `gone` when the server was, so that nobody knows. */
type Outcome = "acknowledged" | "refused" | "gone";

/** When clients stop, beside that the server answers no more. */
export interface Ends {
  /** So many runs are sent. */
  readonly runs?: number;
  /**
   * They are told to. Then a refusal ends none of them: the client leaves that run and begins the next.
   */
  readonly until?: AbortSignal;
}

/** What a number of clients write to a server, until it is gone. */
export class Load {
  readonly scripts: Script[] = [];
  acknowledged = 0;
  /** Refusals by their code; each was a proper one. */
  readonly refusals: Record<string, number> = {};
  /** Whether all clients have stopped. */
  isOver = false;
  #waiting: { readonly wanted: (load: Load) => boolean; readonly found: () => void }[] = [];

  /**
   * @param first number of the first run; loads on one store must not overlap
   * @param model named by some of the events; it has no price at first
   */
  constructor(readonly first: number, readonly model = "a-model-without-a-price") {}

  /** A load of so many runs, all of them acknowledged. */
  static acknowledged(first: number, model: string, runs: number): Load {
    const load = new Load(first, model);
    for (let n = 0; n < runs; n++) {
      const script = scriptOf(first + n, model);
      for (const call of script.calls) call.state = "acknowledged";
      load.scripts.push(script);
    }
    return load;
  }

  /** How many calls were refused. */
  get refused(): number {
    return Object.values(this.refusals).reduce((sum, count) => sum + count, 0);
  }

  /** Writes until the server refuses a call or is gone, or as its ends say. */
  async run(access: Access, { runs = Infinity, until }: Ends = {}): Promise<void> {
    const writing = each(async (client) => {
      while (this.scripts.length < runs && !until?.aborted) {
        const next = scriptOf(this.first + this.scripts.length, this.model);
        this.scripts.push(next);
        const outcome = await this.#sendLeft(client, access, next);
        if (outcome === "acknowledged") continue;
        if (outcome === "gone" || until === undefined) return;
        await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
      }
    });
    await writing.finally(() => {
      this.isOver = true;
      this.#tell();
    });
  }

  /** Resolves once so many calls are acknowledged. */
  async reached(count: number): Promise<void> {
    await this.until(({ acknowledged }) => acknowledged >= count);
  }

  /** Resolves once something is so; fails when it never is. */
  async until(wanted: (load: Load) => boolean): Promise<void> {
    if (wanted(this)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ wanted, found: resolve });
    const never = new Error(`Never so: ${wanted}, with ${this.acknowledged} acknowledged calls`);
    const timer = setTimeout(reject, UNTIL_MS_MAX, never);
    await promise.finally(() => clearTimeout(timer));
  }

  #tell(): void {
    this.#waiting = this.#waiting.filter(({ wanted, found }) => {
      if (!wanted(this)) return true;
      found();
      return false;
    });
  }

  /** Sends again what was never acknowledged, and the rest of every run; answers how many calls. */
  async resend(access: Access): Promise<number> {
    const left = this.scripts.filter(({ calls }) => calls.some(isLeft));
    const sent = left.reduce((sum, { calls }) => sum + calls.filter(isLeft).length, 0);
    await eachOf(left, async (client, script) => {
      const outcome = await this.#sendLeft(client, access, script);
      assertEquals(outcome, "acknowledged", `a retry of ${script.id} was not taken`);
    });
    return sent;
  }

  /**
   * Reads every run whose close was acknowledged until its cost is final, writing nothing. Answers how
   * many there are.
   */
  async settle(access: Access): Promise<number> {
    const closed = this.scripts.filter(({ calls }) => calls.at(-1)?.state === "acknowledged");
    await eachOf(closed, async (client, { id }) => {
      const startedMs = performance.now();
      while ((await read(client, access, id))?.cost.state !== "final") {
        assert(performance.now() - startedMs < SETTLED_MS_MAX, `${id} is still not final`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    });
    return closed.length;
  }

  /** Holds every run that the server has against what its client was told. */
  async verify(access: Access): Promise<Tally> {
    const tally = noTally();
    await eachOf(this.scripts, async (client, script) => {
      verifyRun(heldOf(await read(client, access, script.id)), script, tally);
    });
    return tally;
  }

  /** Sends the calls of a run that are not acknowledged, up to the first that still is not. */
  async #sendLeft(client: Deno.HttpClient, access: Access, { calls }: Script): Promise<Outcome> {
    for (const call of calls.filter(isLeft)) {
      const outcome = await this.#send(client, access, call);
      if (outcome !== "acknowledged") return outcome;
    }
    return "acknowledged";
  }

  async #send(client: Deno.HttpClient, { url, key }: Access, call: Call): Promise<Outcome> {
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
      // The process is gone: whether it stored the call is not known.
      if (error instanceof TypeError) return "gone";
      throw error;
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
    this.#tell();
    return status === 503 ? "refused" : "acknowledged";
  }
}

/** The code of a refusal; that of a ping, the only GET, is the first word of a line of text. */
function codeOf({ body }: Call, text: string): string {
  return body === null ? text.split(" ", 1)[0] ?? "" : JSON.parse(text).error;
}

function isLeft({ state }: Call): boolean {
  return state !== "acknowledged";
}

/** Works as all clients at once. */
async function each(work: (client: Deno.HttpClient) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    using client = Deno.createHttpClient({});
    await work(client);
  }));
}

/** Each client takes the next one that nobody has taken. */
async function eachOf<T>(
  list: readonly T[],
  work: (client: Deno.HttpClient, one: T) => Promise<void>,
): Promise<void> {
  const next = list.values();
  await each(async (client) => {
    for (const one of next) await work(client, one);
  });
}

async function read(client: Deno.HttpClient, { url, key }: Access, id: string) {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${url}/v1/runs/${id}?events_limit=100`, { client, headers });
  const json = await response.json();
  assert([200, 404].includes(response.status), `${id}: ${response.status}`);
  return response.status === 200 ? json : null;
}
