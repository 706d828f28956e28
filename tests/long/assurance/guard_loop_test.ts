/** A run that loops: thousands of batches, to one instance and to three on one shared KV (G7). */
import { assert, assertMatch } from "@std/assert";
import { anEvent, aRun, runId } from "../../support/builders/requests.ts";
import { KvServer } from "../../support/fakes/kv_server.ts";
import { Harness } from "../../support/harness/harness.ts";

/** Instances and batches. Of several, each reads the run again, which the others have changed. */
const LOOPS = [[1, 10_000], [3, 1_000]] as const;

/** Number of the batch that passes the limit: each costs 0.0025 dollars. */
const PASSES = 777, USD = 0.0025;

for (const [instances, batches] of LOOPS) {
  Deno.test(`budgets (5): of ${batches} batches to ${instances} instances, the one that passes the limit and all later ones say block`, async () => {
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
    for (let n = 1; n <= batches; n++) {
      const events = [anEvent(n, { type: "llm_call", data })];
      const h = all[n % instances] as Harness;
      const { status, headers, text } = await h.post(`/v1/runs/${runId(1)}/events`, { events });
      assert(status === 202, text);
      const guard = headers.get("runledger-guard");
      if (n >= PASSES) assertMatch(guard ?? "", /^block;/, `batch ${n}`);
      else assert(guard === null || /^(allow|warn;)/.test(guard), `batch ${n}: ${guard}`);
    }
  });
}
