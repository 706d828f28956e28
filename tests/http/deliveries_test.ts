/** Deliveries over the API: list, read, send again, and the test of a channel. */
import { assertEquals } from "@std/assert";
import {
  type DeliveriesQuery,
  type DeliveryTry,
  newDelivery,
} from "../../domain/channels/delivery.ts";
import { idOfNumber, incidentFacts } from "../support/builders/incidents.ts";
import { at } from "../support/builders/requests.ts";
import { Harness, NOON } from "../support/harness/harness.ts";
import type { DeliveryStore } from "../../kv/channels/deliveries.ts";
import type { ChannelTester } from "../../kv/channels/tester.ts";

const ONE = idOfNumber("whd", 1);

const TRY: DeliveryTry = { at: NOON, status: 500, ms: 12, error: "HTTP 500", answer: "<h1>" };

const DELIVERY = {
  ...newDelivery(
    ONE,
    { slug: "ops", type: "slack" },
    { event: "incident.opened", at: NOON, incident: incidentFacts() },
    null,
  ),
  tries: [TRY],
};

const WIRE = {
  id: ONE,
  channel: "ops",
  channel_type: "slack",
  event: "incident.opened",
  incident_id: idOfNumber("inc", 1),
  state: "waiting",
  attempts: [{ at: at(), status: 500, ms: 12, error: "HTTP 500", answer: "<h1>" }],
  created_at: at(),
  next_at: at(0),
  test: false,
};

function fakeStore() {
  const queries: DeliveriesQuery[] = [];
  const find = (id: string) => Promise.resolve(id === ONE ? DELIVERY : null);
  const store: DeliveryStore = {
    list: (_team, query) => {
      queries.push(query);
      const next = query.after === null ? { at: NOON, id: ONE } : null;
      return Promise.resolve({ deliveries: [DELIVERY], next });
    },
    read: (_team, id) => find(id),
    resend: (_team, id) => find(id),
  };
  return { queries, store };
}

Deno.test("GET deliveries: every try, and what receivers answered for admin alone", async () => {
  const { queries, store } = fakeStore();
  await using h = await Harness.open({ deps: { deliveries: store } });
  const incident = idOfNumber("inc", 1);
  const query = `channel=ops&state=waiting&incident=${incident}&limit=3&from=${at()}`;
  const first = (await h.get(`/v1/deliveries?${query}`)).json;
  assertEquals(first.deliveries, [WIRE]);
  const reader = await h.addKey({ kind: "api_key", scopes: ["read"] });
  const { answer: _, ...attempt } = WIRE.attempts[0] ?? {};
  const hidden = { ...WIRE, attempts: [attempt] };
  const next = (await h.get(`/v1/deliveries?cursor=${first.cursor}`, { key: reader })).json;
  assertEquals(next, { deliveries: [hidden], cursor: null });
  assertEquals((await h.get(`/v1/deliveries/${ONE}`)).json, WIRE);
  assertEquals((await h.get(`/v1/deliveries/${ONE}`, { key: reader })).json, hidden);
  assertEquals(queries, [
    { channel: "ops", state: "waiting", incident, limit: 3, after: null, fromMs: NOON },
    {
      channel: null,
      state: null,
      incident: null,
      limit: 100,
      after: { at: NOON, id: ONE },
      fromMs: 0,
    },
  ]);
  for (const query of ["state=lost", "channel=UPPER", "incident=inc_eu_1", "cursor=MQ"]) {
    const { status, json } = await h.get(`/v1/deliveries?${query}`);
    assertEquals([status, json.field], [400, query.split("=")[0]], query);
  }
});

Deno.test("test a channel: its result, 404 for an unknown one, 429 for one too many", async () => {
  const results = new Map<string, DeliveryTry | "limited">([
    ["ok", { at: NOON, status: 200, ms: 3, error: null, answer: "ok" }],
    ["bad", TRY],
    ["often", "limited"],
  ]);
  const channelTester: ChannelTester = {
    test: (_team, slug) => Promise.resolve(results.get(slug) ?? null),
  };
  await using h = await Harness.open({ deps: { channelTester } });
  const test = (slug: string) => h.request("POST", `/v1/channels/${slug}/test`);
  assertEquals((await test("ok")).json, { ok: true, status: 200, ms: 3, error: null });
  assertEquals((await test("bad")).json, { ok: false, status: 500, ms: 12, error: "HTTP 500" });
  assertEquals((await test("none")).json.error, "not_found");
  const limited = await test("often");
  assertEquals([limited.status, limited.json.error], [429, "rate_limit"]);
  assertEquals(limited.headers.get("retry-after"), "60");
});
