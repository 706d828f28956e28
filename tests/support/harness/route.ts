/** Sends requests to several instances, as a proxy does. */
import { Random } from "../../../tools/random.ts";
import type { Instance } from "./instance.ts";

/** Milliseconds until every instance notices a change of what instances cache. */
const NOTICED_MS = 10_000;

/** Calls that change credentials, teams, rate cards or agents, which instances cache. */
const CHANGES = /^(?!GET |HEAD )\w+ \/(v1|dashboard)\/(keys|teams|rate-card|agents)\b/;

/** Draws the instance of each request; the same in each run of a test file. */
const random = new Random(Deno.env.get("RUNLEDGER_TEST_SEED") ?? "instances");

/** Sends each request to an instance. */
export class Route {
  readonly #instances: readonly Instance[];
  #last: Instance | null = null;
  /** Time until which the last instance serves all requests. */
  #untilMs = -Infinity;

  constructor(instances: readonly Instance[]) {
    this.#instances = instances;
  }

  /** Sends a request to a random instance, or within the cache time of a change to its instance. */
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response> {
    const call = `${request.method} ${request.url.replace(/^\w+:\/\/[^/]*/, "")}`;
    return this.#instanceFor(call).service.app.fetch(request, info);
  }

  #instanceFor(call: string): Instance {
    const nowMs = performance.now();
    if (this.#last === null || nowMs >= this.#untilMs) {
      this.#last = this.#instances[random.int(0, this.#instances.length - 1)] as Instance;
      this.#untilMs = nowMs;
    }
    if (CHANGES.test(call)) this.#untilMs = nowMs + NOTICED_MS;
    return this.#last;
  }
}
