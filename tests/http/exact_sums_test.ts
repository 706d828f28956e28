/** Sums in responses have all digits, so that groups add up to totals for an exact reader. */
import { assertEquals } from "@std/assert";
import { picodollars } from "../../domain/pricing/money.ts";
import { aHeartbeat, anEvent, aRun, at, runId } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

const MAX = Number.MAX_SAFE_INTEGER;

/** Extracts the numbers of a field from a text, digit by digit. */
function digitsOf(text: string, field: string): string[] {
  return Array.from(
    text.matchAll(new RegExp(`"${field}":(-?[\\d.]+)[,}]`, "g")),
    ([, n]) => n ?? "",
  );
}

/** Converts dollars to integer picodollars. */
function exact(usd: string): bigint {
  const [whole = "", decimals = ""] = usd.split(".");
  return BigInt(whole + decimals.padEnd(12, "0"));
}

Harness.test("R16: groups of spend add up to the total, to the last digit", async (h) => {
  // Each is exact as a number, but their sum is not.
  const costs = [999_999.123456789, 999_998.000000001, 0.1, 1e-7 + 1];
  for (const [n, cost_usd] of costs.entries()) {
    await h.post("/v1/heartbeats", aHeartbeat(n, { agent: `agent-${n}`, cost_usd }));
  }
  await h.worker.idle();
  const { text } = await h.get("/v1/spend?from=2026-11-01&to=2026-11-30&group_by=agent");
  const [total = "", ...groups] = digitsOf(text, "cost_usd");
  const expected = costs.reduce((sum, cost) => sum + picodollars(cost), 0n);
  assertEquals(groups.length, costs.length);
  assertEquals([exact(total), groups.reduce((sum, usd) => sum + exact(usd), 0n)], [
    expected,
    expected,
  ]);
});

Harness.test("R16: tokens and the cost of a run are exact beyond 2^53, in each response", async (h) => {
  await h.post("/v1/runs", aRun(1));
  const data = { model: "gpt-4o", input_tokens: MAX, output_tokens: MAX };
  const events = [1, 2, 3].map((n) => anEvent(n, { type: "llm_call", data, ts: at(n) }));
  await h.post(`/v1/runs/${runId(1)}/events`, { events });
  await h.worker.idle();
  const tokens = 3n * BigInt(MAX);
  // $2.50 and $10 per million.
  const cost = tokens * 12_500_000n;
  const spend = "/v1/spend?from=2026-11-01&to=2026-11-30&group_by=agent";
  const paths = [`/v1/runs/${runId(1)}`, `/v1/runs/${runId(1)}/cost`, "/v1/runs", spend];
  for (const path of paths) {
    const { text } = await h.get(path);
    for (const field of ["input_tokens", "output_tokens"]) {
      assertEquals(digitsOf(text, field).includes(`${tokens}`), true, `${field} of ${path}`);
    }
    assertEquals(digitsOf(text, "cost_usd").map(exact).includes(cost), true, path);
  }
  const [children = ""] = digitsOf((await h.get(paths[0] ?? "")).text, "cost_with_children_usd");
  assertEquals(exact(children), cost);
  await h.request("PUT", "/v1/rate-card", {
    body: { model: "gpt-4o", input_usd_per_million: 0, output_usd_per_million: 0 },
  });
  const { text } = await h.post("/v1/rate-card/reprice", { model: "gpt-4o" });
  assertEquals(digitsOf(text, "old_cost_usd").map(exact), [cost]);
  const [difference = ""] = digitsOf(text, "difference_usd");
  assertEquals([difference[0], exact(difference.slice(1))], ["-", cost]);
});
