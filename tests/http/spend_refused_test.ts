/** `/v1/spend` and `/v1/spend/unpriced`: access and invalid queries. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { AppDeps } from "../../routes/http/context.ts";
import { Harness } from "../support/harness/harness.ts";
import { aContribution, LINE, NOTHING, storeSpend, UNPRICED } from "../support/builders/spend.ts";

Deno.test("GET /v1/spend: each bad parameter is refused by name", async () => {
  await using h = await Harness.open();
  const range = [
    ["from=yesterday", "from"],
    ["from=2026-1-1", "from"],
    ["from=2026-02-29", "from"],
    ["from=2026-11-01T00:00:00%2B24:00", "from"],
    ["from=1969-12-31", "from"],
    ["to=2026-13-01", "to"],
    ["to=2026-11-31", "to"],
    ["to=10000-01-01", "to"],
    ["from=2026-11-02&to=2026-11-01", "from"],
    // Without "to" the range ends today.
    ["from=2026-11-22", "from"],
    ["from=2023-01-01&to=2024-02-05", "from"],
    ["from=%FF", "from"],
    [`model=${"m".repeat(257)}`, "model"],
    ["model=(unattributed)", "model"],
    [`provider=${"\u{1F600}".repeat(257)}`, "provider"],
  ] as const;
  const remainder = [
    ["group_by=week", "group_by"],
    ["group_by=customer_id", "group_by"],
    ["group_by=Day", "group_by"],
    ["status=ok", "status"],
    ["status=(unattributed)", "status"],
    [`agent=${"a".repeat(129)}`, "agent"],
    [`customer_id=${"c".repeat(257)}`, "customer_id"],
    [`feature=${"f".repeat(257)}`, "feature"],
    ["agent=%", "agent"],
  ] as const;
  for (const [query, field] of [...range, ...remainder]) {
    const answer = await h.get(`/v1/spend?${query}`);
    assertEquals([answer.status, answer.json.error, answer.json.field], [
      400,
      "invalid_field",
      field,
    ]);
    assertStringIncludes(answer.json.message, `"${field}"`);
  }
  for (const [query, field] of range) {
    const answer = await h.get(`/v1/spend/unpriced?${query}`);
    assertEquals([answer.status, answer.json.error, answer.json.field], [
      400,
      "invalid_field",
      field,
    ]);
  }
  const longest = await h.get(`/v1/spend?agent=${"a".repeat(128)}&model=${"m".repeat(256)}`);
  assertEquals(longest.status, 200);
});

Deno.test("GET /v1/spend: the scope read is required, and a team sees only its own spend", async () => {
  await using h = await Harness.open();
  await storeSpend(h, [aContribution({ models: [LINE, UNPRICED] })]);
  const other = await h.addTeam("team");
  const ingest = await h.addKey({ kind: "api_key", scopes: ["ingest", "admin"] });
  const read = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const token = await h.addKey({ kind: "ping_token", agent: "a" });
  for (
    const path of ["/v1/spend", "/v1/spend?group_by=model&agent=researcher", "/v1/spend/unpriced"]
  ) {
    assertEquals((await h.get(path, { key: null })).status, 401);
    assertEquals((await h.get(path, { key: token })).status, 401);
    assertEquals((await h.get(path, { key: ingest })).json.error, "forbidden");
    assertEquals((await h.get(path, { key: read })).text, (await h.get(path)).text);
    const theirs = (await h.get(path, { key: other.key })).json;
    assertEquals(theirs.totals ?? NOTHING, NOTHING);
    assertEquals(theirs.models ?? [], []);
  }
  await storeSpend(h, [aContribution()], other.team);
  assertEquals((await h.get("/v1/spend", { key: other.key })).json.totals.runs, 1);
  assertEquals((await h.get("/v1/spend")).json.totals.unpriced.llm_calls, 1);
});

Deno.test("GET /v1/spend: a failing store is 503 without details", async () => {
  const spend: AppDeps["spend"] = {
    // deno-lint-ignore require-yield -- it fails before the first row
    async *rows() {
      await Promise.resolve();
      throw new StorageUnavailable("Cannot list roll-ups: secret detail");
    },
    ask: (_, work) => work(),
    some: () => Promise.reject(new StorageUnavailable("Cannot read roll-ups: secret detail")),
  };
  await using h = await Harness.open({ deps: { spend } });
  for (const path of ["/v1/spend", "/v1/spend?group_by=model", "/v1/spend/unpriced"]) {
    const answer = await h.get(path);
    assertEquals([answer.status, answer.json.error], [503, "storage_unavailable"]);
    assert(!answer.text.includes("secret"));
  }
});
