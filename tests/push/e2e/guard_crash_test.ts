/** Budgets after kill -9: what was acknowledged before `stale_as_of` is in the spend. */
import { assert, assertEquals } from "@std/assert";
import { Process } from "../../support/harness/process.ts";
import { withFolder } from "../../support/harness/temp_store.ts";

const KEY = "apk_eu_00112233445566778899aabbccddeeff";

const ROUNDS = 3, CALLS = 40;

Deno.test("budgets (7): after kill -9 all that was acknowledged before stale_as_of is in the spend", async () => {
  await withFolder(async (folder) => {
    const settings = {
      RUNLEDGER_KV: `${folder}/test.kv`,
      RUNLEDGER_KEY: KEY,
      RUNLEDGER_TIER: "business",
    };
    const headers = { Authorization: `Bearer ${KEY}` };
    /** Dollars of the calls that were acknowledged, with the time of the answer. */
    const acknowledged: { readonly atMs: number; readonly dollars: number }[] = [];
    let sent = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      await using process = await Process.start(settings);
      const call = async (method: string, path: string, body: unknown) => {
        const options = { method, headers, body: JSON.stringify(body) };
        const response = await fetch(process.url + path, options);
        const text = await response.text();
        assert(response.status < 300, text);
        return JSON.parse(text);
      };
      if (round === 0) {
        const budget = { scope: { customer_id: "acme" }, period: "month", limit_usd: 1e6 };
        await call("PUT", "/v1/budgets/acme", { ...budget, mode: "hard" });
      }
      const { rules: [rule], stale_as_of } = await call("POST", "/v1/guard/check", {
        customer_ref: "acme",
      });
      const asOfMs = Date.parse(stale_as_of);
      const before = acknowledged.filter(({ atMs }) => atMs < asOfMs);
      const least = before.reduce((sum, { dollars }) => sum + dollars, 0);
      assert(rule.spent_usd >= least && rule.spent_usd <= sent, `${rule.spent_usd} ${least}`);
      if (round === ROUNDS) {
        // Everything is counted in the end, and nothing twice.
        let spent = rule.spent_usd;
        const total = acknowledged.reduce((sum, { dollars }) => sum + dollars, 0);
        while (spent < total) {
          const answer = await call("POST", "/v1/guard/check", { customer_ref: "acme" });
          spent = answer.rules[0].spent_usd;
        }
        assert(spent <= sent, `${spent} of ${sent}`);
        break;
      }
      const calls = Array.from({ length: CALLS }, async (_, n) => {
        const dollars = 1 + n % 3;
        sent += dollars;
        const heartbeat = { agent: "nightly", customer_id: "acme", cost_usd: dollars };
        await call("POST", "/v1/heartbeats", heartbeat);
        acknowledged.push({ atMs: Date.now(), dollars });
        if (acknowledged.length % CALLS === CALLS / 2) process.signal("SIGKILL");
      });
      await Promise.allSettled(calls);
      process.signal("SIGKILL");
      assertEquals((await process.ended()).signal, "SIGKILL");
    }
    assert(acknowledged.length >= ROUNDS, `${acknowledged.length}`);
  });
});
