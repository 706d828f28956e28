/** Clients that write every kind of call at once, and remember what they sent and were told. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { RunId } from "../../domain/run/ids.ts";
import { aFinish, anEvent, aRun, runId } from "../support/builders.ts";

/** Something a call stores, once: an opening, a close, both in one, or events. */
interface Call {
  readonly stores: "opening" | "closing" | "both" | number;
  readonly path: string;
  readonly body: unknown;
  state: "unsent" | "sent" | "acknowledged";
}

/** A run and its calls, sent one after the other. */
export interface Script {
  readonly id: RunId;
  readonly calls: readonly Call[];
}

const CLIENTS = 16;
/** How long a client rests after a refusal. */
const REFUSED_MS = 20;
/** What a process may take to finish what another left; far more than it does. */
const SETTLED_MS_MAX = 10_000;
/** How long anybody waits for certain answers; far more than they take. */
const UNTIL_MS_MAX = 30_000;
/** The second batch repeats two events of the first. */
export const EVENTS = { first: 10, both: 18 } as const;

/** Every other event is a call of a model, with a price or without. */
function callOf(n: number): Record<string, unknown> {
  if (n % 2 > 0) return {};
  const model = n % 4 > 0 ? "gpt-4o" : "a-model-without-a-price";
  return { type: "llm_call", data: { model, input_tokens: 100 + n, output_tokens: n } };
}

function script(n: number): Script {
  const id = runId(n) as RunId;
  const call = (stores: Call["stores"], path: string, body: unknown): Call => ({
    stores,
    path,
    body,
    state: "unsent",
  });
  const events = (from: number, to: number) => ({
    events: Array.from({ length: to - from }, (_, i) => anEvent(from + i, callOf(from + i))),
  });
  const usage = { model: "gpt-4o", input_tokens: n, output_tokens: 7 };
  const beat = { id, agent: "nightly", started_at: new Date(0).toISOString(), ...usage };
  switch (n % 4) {
    case 0:
      return { id, calls: [call("both", "/v1/heartbeats", beat)] };
    case 1:
      return {
        id,
        calls: [
          call("opening", "/v1/heartbeats", { ...beat, status: "start" }),
          call("closing", "/v1/heartbeats", beat),
        ],
      };
    default:
      return {
        id,
        calls: [
          call("opening", "/v1/runs", aRun(n)),
          call(EVENTS.first, `/v1/runs/${id}/events`, events(0, EVENTS.first)),
          call(EVENTS.both, `/v1/runs/${id}/events`, events(EVENTS.first - 2, EVENTS.both)),
          call("closing", `/v1/runs/${id}/finish`, aFinish()),
        ],
      };
  }
}

/** What came of a call; `gone` when the server was, so that nobody knows. */
type Outcome = "acknowledged" | "refused" | "gone";

/** What a number of clients write to a server, until it is gone. */
export class Load {
  readonly scripts: Script[] = [];
  acknowledged = 0;
  /** Whether the server was gone, or the clients were told to stop. */
  isOver = false;
  /** Refusals by their code; each was a proper one. */
  readonly refusals: Record<string, number> = {};
  #waiting: { readonly wanted: (load: Load) => boolean; readonly found: () => void }[] = [];
  #next: number;

  /** @param first number of the first run; loads on one store must not overlap */
  constructor(readonly key: string, first: number) {
    this.#next = first;
  }

  /** How many calls were answered with 503. */
  get refused(): number {
    return Object.values(this.refusals).reduce((sum, count) => sum + count, 0);
  }

  /**
   * Writes until the server answers no more. With `until` a refusal does not end it: the client leaves
   * that run and begins the next one, until it is told to stop.
   */
  async run(url: string, until?: AbortSignal): Promise<void> {
    await this.#inTurns(this.#newScripts(until), async (client, { calls }) => {
      for (const call of calls) {
        const outcome = await this.#send(client, url, call);
        if (outcome === "acknowledged") continue;
        if (outcome === "gone" || until === undefined) return false;
        await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
        break;
      }
      return true;
    });
    this.isOver = true;
    this.#tell();
  }

  *#newScripts(until?: AbortSignal): Generator<Script> {
    while (!until?.aborted) {
      const next = script(this.#next++);
      this.scripts.push(next);
      yield next;
    }
  }

  /** Has all clients take one script after the other, until they want no more. */
  async #inTurns(
    scripts: Iterable<Script>,
    work: (client: Deno.HttpClient, next: Script) => Promise<boolean>,
  ): Promise<void> {
    const next = scripts[Symbol.iterator]();
    await Promise.all(Array.from({ length: CLIENTS }, async () => {
      using client = Deno.createHttpClient({});
      for (;;) {
        const { value, done } = next.next();
        if (done || !await work(client, value)) return;
      }
    }));
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

  /** Sends again what was never acknowledged, and the rest of every run. */
  async resend(url: string): Promise<void> {
    await this.#inTurns(this.scripts, async (client, { calls }) => {
      for (const call of calls) {
        if (call.state === "acknowledged") continue;
        const outcome = await this.#send(client, url, call);
        assertEquals(outcome, "acknowledged", `a retry of ${call.path} was not taken`);
      }
      return true;
    });
  }

  /**
   * Reads every run whose close was acknowledged until its cost is final, writing nothing. Answers how
   * many there are.
   */
  async settle(url: string): Promise<number> {
    const closed = this.scripts.filter(({ calls }) =>
      calls.some(({ stores, state }) =>
        state === "acknowledged" && (stores === "closing" || stores === "both")
      )
    );
    await this.#inTurns(closed, async (client, { id }) => {
      await this.#isFinal(client, `${url}/v1/runs/${id}?events_limit=1`);
      return true;
    });
    return closed.length;
  }

  async #isFinal(client: Deno.HttpClient, url: string): Promise<void> {
    const headers = { Authorization: `Bearer ${this.key}` };
    const startedMs = performance.now();
    for (;;) {
      const response = await fetch(url, { client, headers });
      if ((await response.json()).cost?.state === "final") return;
      assert(performance.now() - startedMs < SETTLED_MS_MAX, `${url} is still not final`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Sends one call. */
  async #send(client: Deno.HttpClient, url: string, call: Call): Promise<Outcome> {
    call.state = "sent";
    try {
      const response = await fetch(url + call.path, {
        method: "POST",
        client,
        headers: { Authorization: `Bearer ${this.key}` },
        body: JSON.stringify(call.body),
      });
      return this.#answered(call, response, await response.text());
    } catch (error) {
      // The process is gone: whether it stored the call is not known.
      if (error instanceof TypeError) return "gone";
      throw error;
    }
  }

  #answered(call: Call, { status, headers }: Response, text: string): Outcome {
    if (status === 503) {
      const { error } = JSON.parse(text);
      assertMatch(headers.get("retry-after") ?? "", /^[1-5]$/);
      this.refusals[error] = (this.refusals[error] ?? 0) + 1;
    } else {
      assert(status === 200 || status === 202, `${call.path} was answered ${status} ${text}`);
      call.state = "acknowledged";
      this.acknowledged++;
    }
    this.#tell();
    return status === 503 ? "refused" : "acknowledged";
  }
}
