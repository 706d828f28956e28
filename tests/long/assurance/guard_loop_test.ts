/** A run that loops: 10,000 batches, to one instance and to three on one shared KV (G7). */
import { assert, assertMatch } from "@std/assert";
import { anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { type Answer, Harness } from "../../support/harness/harness.ts";

/** Of several instances, each reads the run again, which the others have changed. */
const INSTANCES = [1, 3];

const BATCHES = 10_000;

/** Number of the batch that passes the limit: each costs 0.0025 dollars. */
const PASSES = 777, USD = 0.0025;

/** Tries of a batch, as an SDK makes them: the store may be late under load. */
const TRIES_MAX = 10;

/** Sends a batch until it is acknowledged, after the wait that each 503 names. */
async function acknowledged(send: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1;; tries++) {
    const answer = await send();
    const { status, headers, text } = answer;
    if (status === 202) return answer;
    assert(status === 503 && tries < TRIES_MAX, text);
    const seconds = Number(headers.get("retry-after"));
    assert(seconds >= 1 && seconds <= 5, text);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

for (const instances of INSTANCES) {
  Deno.test(`budgets (5): of ${BATCHES} batches to ${instances} instances, the one that passes the limit and all later ones say block`, async () => {
    await using stack = new AsyncDisposableStack();
    const kv = instances === 1 ? undefined : stack.use(await KvServer.start());
    const all: Harness[] = [];
    while (all.length < instances) {
      all.push(stack.use(await Harness.open(kv === undefined ? {} : { kv: kv.url() })));
    }
    const [first] = all as [Harness];
    const body = { scope: {}, period: "run", limit_usd: PASSES * USD, mode: "hard" };
    await first.request("PUT", "/v1/budgets/loop", { body });
    // Each instance knows the budgets before its first batch.
    for (const h of all) await h.post("/v1/guard/check", {});
    await first.post("/v1/runs", aRun(1));
    const data = { model: "gpt-4o", input_tokens: 1_000 };
    for (let n = 1; n <= BATCHES; n++) {
      const events = [anEvent(n, { type: "llm_call", data })];
      const h = all[n % instances] as Harness;
      const send = () => h.post(`/v1/runs/${runId(1)}/events`, { events });
      const guard = (await acknowledged(send)).headers.get("runledger-guard");
      if (n >= PASSES) assertMatch(guard ?? "", /^block;/, `batch ${n}`);
      else assert(guard === null || /^(allow|warn;)/.test(guard), `batch ${n}: ${guard}`);
    }
  });
}
