/** Metadata by plan: kept labels, their order, and the report of dropped ones (decision 38). */
import { assert, assertEquals } from "@std/assert";
import { aFinish, aHeartbeat, aRun, runId } from "../support/builders/requests.ts";
import { type Answer, freeTeam, Harness } from "../support/harness/harness.ts";
import type { Tier } from "../../domain/teams/plans.ts";

const KEPT: Record<Tier, number> = { free: 0, starter: 0, team: 3, business: 10, enterprise: 15 };

/** Stored labels in stored order, as text: parsing would move integer-like keys. */
async function storedText(h: Harness, n = 1): Promise<string> {
  const { text } = await h.get(`/v1/runs/${runId(n)}`);
  return /"metadata":(null|\{[^}]*\})/.exec(text)?.[1] ?? "none";
}

async function stored(h: Harness, n = 1): Promise<Record<string, unknown>> {
  return JSON.parse(await storedText(h, n)) ?? {};
}

function dropped(sent: Answer): string | null {
  return sent.headers.get("runledger-dropped");
}

for (const [tier, kept] of Object.entries(KEPT) as [Tier, number][]) {
  Deno.test(`decision 38: of fifteen labels the plan ${tier} keeps the first ${kept}`, async () => {
    await using h = await Harness.open({ tier });
    // Named z, y, x …: only the sent order gives this response.
    const names = Array.from({ length: 15 }, (_, i) => String.fromCharCode(122 - i));
    const metadata = Object.fromEntries(names.map((name, i) => [name, `v${i}`]));
    const calls: [number, string, Record<string, unknown>][] = [
      [1, "/v1/runs", aRun(1, { metadata })],
      [2, `/v1/runs/${runId(2)}/finish`, aFinish({ metadata })],
      [3, "/v1/heartbeats", aHeartbeat(3, { metadata })],
    ];
    for (const [n, path, body] of calls) {
      const answer = await h.post(path, body);
      assertEquals([answer.status, dropped(answer)], [
        202,
        kept === 15 ? null : `metadata=${15 - kept}`,
      ]);
      assertEquals(Object.keys(await stored(h, n)), names.slice(0, kept));
    }
  });

  Deno.test(`decision 38: on ${tier} nothing is reported if nothing was sent`, async () => {
    await using h = await Harness.open({ tier });
    for (const [n, metadata] of [[1, undefined], [2, null], [3, {}], [4, []]] as const) {
      const sent = await h.post("/v1/heartbeats", aHeartbeat(n, { metadata }));
      assertEquals([sent.status, dropped(sent)], [202, null]);
      assertEquals(await stored(h, n), {});
    }
  });
}

Deno.test("decision 38: labels that can never be stored do not count toward the limit", async () => {
  await using h = await Harness.open({ tier: "team" });
  const metadata = {
    nested: { a: 1 },
    list: [1],
    nothing: null,
    ["k".repeat(21)]: "long key",
    long: "v".repeat(51),
    one: 1,
    two: 2,
    three: 3,
    four: 4,
  };
  const response = await h.post("/v1/runs", aRun(1, { metadata }));
  assertEquals([response.status, dropped(response)], [202, "metadata=6"]);
  assertEquals(await stored(h), { one: 1, two: 2, three: 3 });
});

Harness.test("contract 14: a key has at most 20 characters and a value 50, both as code points", async (h) => {
  const metadata = {
    ["🦉".repeat(20)]: "🦉".repeat(50),
    ["🦉".repeat(21)]: "x",
    wide: "🦉".repeat(51),
    ["k".repeat(20)]: "v".repeat(50),
    ["ß".repeat(21)]: "x",
    "": "",
  };
  const response = await h.post("/v1/runs", aRun(1, { metadata }));
  assertEquals([response.status, dropped(response)], [202, "metadata=3"]);
  assertEquals(await stored(h), {
    ["🦉".repeat(20)]: "🦉".repeat(50),
    ["k".repeat(20)]: "v".repeat(50),
    "": "",
  });
});

Harness.test("decision 38: numbers and booleans stay typed; numbers outside JSON's range are dropped", async (h) => {
  const labels = '"int":7,"big":9007199254740991,"float":-0.25,"yes":true,"no":false,"text":"7"';
  const body = `{"id":"${runId(1)}","agent":"a","metadata":{${labels},"huge":1e999}}`;
  const response = await h.post("/v1/heartbeats", body);
  assertEquals([response.status, dropped(response)], [202, "metadata=1"]);
  assertEquals(await storedText(h), `{${labels}}`);
});

Harness.test("decision 38: names of inherited object members are ordinary labels", async (h) => {
  const labels = '{"__proto__":"a","constructor":"b","toString":"c"}';
  const body = `{"id":"${runId(1)}","agent":"a","metadata":${labels}}`;
  assertEquals((await h.post("/v1/heartbeats", body)).status, 202);
  assertEquals(await storedText(h), labels);
});

Deno.test("decision 38: a repeated label is one, with its last value", async () => {
  await using h = await Harness.open({ tier: "team" });
  const labels = '{"a":1,"b":2,"\\u0061":3,"c":4}';
  const response = await h.post(
    "/v1/heartbeats",
    `{"id":"${runId(1)}","agent":"a","metadata":${labels}}`,
  );
  assertEquals(dropped(response), null);
  assertEquals(await storedText(h), '{"a":3,"b":2,"c":4}');
});

Harness.test("decision 14: labels of a retry change nothing", async (h) => {
  await h.post("/v1/runs", aRun(1, { metadata: { a: 1 }, feature: "f", customer_id: "c" }));
  const before = await h.dump();
  const retry = aRun(1, { metadata: { b: 2 }, feature: "g", customer_id: "d" });
  assertEquals((await h.post("/v1/runs", retry)).status, 200);
  assertEquals(await h.dump(), before);
});

freeTeam.test("decision 38: a dropped text is nowhere in the store", async (h) => {
  await h.post("/v1/runs", aRun(1, { metadata: { secret: "do-not-keep" } }));
  const lines = (await h.dump()).join("\n") + (await h.get(`/v1/runs/${runId(1)}`)).text;
  assert(!lines.includes("do-not-keep"));
});
