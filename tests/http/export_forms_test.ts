import { assertEquals } from "@std/assert";
import { parse } from "csv-parse";
import { EXPORT_FORMS } from "../../routes/api/exports/exports.ts";
import { dollarsText, type Picodollars } from "../../domain/pricing/money.ts";
import type { RunListRow } from "../../domain/runs/list.ts";
import { aRow } from "../support/builders/exports.ts";

/** Reads a run's CSV as a table with named columns. */
function csvOf(row: RunListRow): Record<string, string> {
  const { head, line } = EXPORT_FORMS.csv;
  const [only = {}] = parse<Record<string, string>>(head + line(row), { columns: true });
  return only;
}

Deno.test("money: dollars as text are exact to the picodollar, however many there are", () => {
  const texts: [Picodollars, string][] = [
    [0n, "0"],
    [1n, "0.000000000001"],
    [6_400_000_000n, "0.0064"],
    [10_000_000_000_000n, "10"],
    [123_456_789_012_345_678_901_234_567_890n, "123456789012345678.90123456789"],
  ];
  for (const [amount, text] of texts) assertEquals(dollarsText(amount), text);
});

Deno.test("export: both formats agree on each run, with money exact to the picodollar", () => {
  const amount = 9_007_199_254_740_993_000_001n;
  const row = aRow(1, {
    agent: '=HYPERLINK("evil")',
    customerId: "Müller, Söhne & Co.",
    feature: null,
    cost: { ...aRow(1).cost, amount, unpricedModels: ["a", "b"], flags: ["cached_exceeds_input"] },
    has: ["unpriced", "late"],
  });
  const csv = csvOf(row);
  const json = JSON.parse(EXPORT_FORMS.ndjson.line(row));
  assertEquals([csv["cost_usd"], json.cost_usd], [
    "9007199254.740993000001",
    "9007199254.740993000001",
  ]);
  assertEquals([csv["agent"], json.agent], [`'=HYPERLINK("evil")`, '=HYPERLINK("evil")']);
  assertEquals([csv["customer_id"], json.customer_id], [row.customerId, row.customerId]);
  assertEquals([csv["feature"], json.feature], ["", null]);
  assertEquals([csv["unpriced_models"], json.cost.unpriced_models], ["a b", ["a", "b"]]);
  assertEquals([csv["has"], json.has], ["unpriced late", ["unpriced", "late"]]);
  assertEquals([csv["cost_flags"], json.cost.flags], ["cached_exceeds_input", [
    "cached_exceeds_input",
  ]]);
  for (const name of ["id", "kind", "status", "started_at", "finished_at", "received_at"]) {
    assertEquals(csv[name], json[name], name);
  }
  for (const [name, value] of Object.entries(json.usage)) {
    assertEquals(csv[name], String(value), name);
  }
});

Deno.test("export: a run without an opening has empty cells", () => {
  const row = aRow(1, { agent: null, startedAt: null, durationMs: null, flags: ["no_opening"] });
  const csv = csvOf(row);
  assertEquals([csv["agent"], csv["started_at"], csv["duration_ms"]], ["", "", ""]);
  assertEquals(csv["flags"], "no_opening");
});
