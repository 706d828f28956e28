/** Sets a price for a model that had none, and reprices all its calls. */
import { assert } from "@std/assert";
import { PRICES } from "../../support/builders/scripts.ts";
import type { Access } from "../../support/oracles/totals.ts";

/** Maximum milliseconds between two steps of a repricing; far more than one takes. */
const STEP_MS_MAX = 60_000;

export interface Job {
  readonly id: string;
  readonly state: string;
  readonly progress: number;
  readonly runs: number;
  readonly runs_failed: number;
  readonly llm_calls: number;
  readonly difference_usd: number;
}

/** The price of one model: set once, then retried until it is certain. */
export class NewPrice {
  state: "none" | "asked" | "done" = "none";

  constructor(readonly model: string) {}

  /** Sets the price: later calls use it. */
  async put(access: Access): Promise<void> {
    this.state = "asked";
    const { input, output } = PRICES;
    const rates = { input_usd_per_million: input, output_usd_per_million: output };
    await send(access, "PUT", "/v1/rate-card", { model: this.model, ...rates });
  }

  /** Sets the price and starts the job; both are in doubt if the process dies meanwhile. */
  async ask(access: Access): Promise<void> {
    try {
      await this.put(access);
      await this.#start(access);
    } catch (error) {
      // A refusal is a bug; any other error is resolved later.
      if (error instanceof Refused) throw error;
    }
  }

  /** Ensures that all calls have their price. */
  async reprice(access: Access): Promise<void> {
    if (this.state !== "asked") return;
    await this.put(access);
    let job = await this.#start(access);
    let stepMs = performance.now();
    while (job.state !== "done") {
      assert(performance.now() - stepMs < STEP_MS_MAX, `still not done: ${JSON.stringify(job)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const { runs } = job;
      job = await jobOf(access, job.id);
      if (job.runs > runs) stepMs = performance.now();
    }
    this.state = "done";
  }

  #start(access: Access): Promise<Job> {
    return send(access, "POST", "/v1/rate-card/reprice", { model: this.model });
  }
}

export async function jobs(access: Access): Promise<Job[]> {
  return (await send(access, "GET", "/v1/rate-card/reprice")).jobs;
}

export function jobOf(access: Access, id: string): Promise<Job> {
  return send(access, "GET", `/v1/rate-card/reprice/${id}`);
}

class Refused extends Error {}

async function send({ url, key }: Access, method: string, path: string, body?: unknown) {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const json = await response.json();
  const refused = response.status >= 300 && response.status !== 503;
  if (refused) throw new Refused(`${method} ${path}: ${JSON.stringify(json)}`);
  if (response.status === 503) throw new Error("In doubt");
  return json;
}
