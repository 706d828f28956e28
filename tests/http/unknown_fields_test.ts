/** R25: every write of the control API refuses a field that it does not have, and names the nearest. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { exampleFor } from "../../routes/openapi/document.ts";
import { runId } from "../support/builders/requests.ts";
import { PRICE } from "../support/builders/rate_cards.ts";
import { operator, OPERATOR_KEY } from "../support/harness/operator.ts";

/** Control calls with a body. */
const WRITES = ENDPOINTS.filter(({ access, body }) =>
  body !== undefined && access !== null && access.scope !== "ingest"
);

operator.test("R25: a control write with an unknown field stores nothing and names the field", async (h) => {
  const before = await h.dump();
  assert(WRITES.length > 12);
  for (const { id, method, path, access } of WRITES) {
    const url = path.replace(/:(\w+)/g, (_, name) => name === "slug" ? "nightly" : runId(1));
    const body = exampleFor({ id }).body as Record<string, unknown>;
    for (const field of Object.keys(body)) {
      const sent = `${field}x`;
      const { status, json } = await h.request(method, url, {
        key: access?.scope === null ? OPERATOR_KEY : h.key,
        body: { ...body, [sent]: 1 },
      });
      assertEquals([status, json.error, json.field], [400, "invalid_field", sent], url);
      assertStringIncludes(json.message, `Unknown field "${sent}". Did you mean "${field}"?`);
    }
  }
  assertEquals(await h.dump(), before);
});

operator.test("R25: the nearest name is found by its spelling, its meaning and at any depth", async (h) => {
  const key = { kind: "api_key", name: "reader" };
  const price = { model: "m", input_usd_per_million: 1, output_usd_per_million: 1 };
  const tier = { ...price, model: undefined, above_input_tokens: 1 };
  const trial = { expression: "usage.errors == 0" };
  for (
    const [call, body, hint] of [
      ["POST /v1/keys", { ...key, scope: "read" }, '"scope". Did you mean "scopes"?'],
      ["POST /v1/keys", { scope: "read" }, '"scope". Did you mean "scopes"?'],
      ["POST /v1/keys", { ...key, agent: "a" }, '"agent". Known: kind, name, scopes'],
      ["PUT /v1/rate-card", { ...price, efective_from: 1 }, 'Did you mean "effective_from"?'],
      ["PUT /v1/rate-card", { ...price, currency: "EUR" }, '"currency". Known: provider, model'],
      [
        "PUT /v1/rate-card",
        { ...price, tiers: [tier, { ...tier, input_usd_per_milion: 1 }] },
        '"tiers[1].input_usd_per_milion". Did you mean "input_usd_per_million"?',
      ],
      ["POST /v1/rate-card/reprice", { model: "m", dryRun: true }, 'Did you mean "dry_run"?'],
      ["POST /v1/checks/try", { check: { ...trial, agent: [] } }, '"check.agent". Did you mean'],
      [
        "PUT /v1/rules/a",
        { kind: "run_failed", params: { consecutiv: 3 } },
        '"params.consecutiv". Did you mean "consecutive"?',
      ],
      ["PATCH /v1/teams/x", { plan: "free" }, 'Unknown field "plan". Did you mean "tier"?'],
      ["PATCH /v1/teams/x", { rate: { bursts: 1 } }, '"rate.bursts". Did you mean "burst"?'],
      ["PATCH /v1/teams/x", '{"__proto__":{"tier":"free"}}', 'Unknown field "__proto__"'],
    ] as const
  ) {
    const [method = "", path = ""] = call.split(" ");
    const isOperators = path.startsWith("/v1/teams");
    const options = { body, key: isOperators ? OPERATOR_KEY : h.key };
    const { status, json } = await h.request(method, path, options);
    assertEquals([status, json.error], [400, "invalid_field"], call);
    assertStringIncludes(json.message, hint);
  }
  const long = "x".repeat(100_000);
  const { json } = await h.request("PUT", "/v1/rate-card", { body: { ...PRICE, [long]: 1 } });
  assertEquals(json.field.length, 64);
  assert(json.message.length < 500);
});
