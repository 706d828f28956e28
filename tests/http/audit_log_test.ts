/** `GET /v1/audit`: every change once, with its author, for the team and for the operator. */
import { assert, assertEquals } from "@std/assert";
import { aRun, at, runId } from "../support/builders/requests.ts";
import { type Answer, Harness } from "../support/harness/harness.ts";
import { aTeam, operate, operator } from "../support/harness/operator.ts";
import { PRICE, put, remove } from "../support/builders/rate_cards.ts";

const API_KEY = { kind: "api_key", name: "ci", scopes: ["read"] };

interface Entry {
  readonly at: string;
  readonly team: string;
  readonly actor: { readonly id: string; readonly name: string | null };
  readonly action: string;
  readonly target: string;
  readonly details: Record<string, unknown>;
}

async function entriesOf(h: Harness, query = "", key = h.key): Promise<Entry[]> {
  return (await h.get(`/v1/audit${query}`, { key })).json.entries;
}

async function actionsOf(h: Harness, key = h.key): Promise<string[]> {
  return (await entriesOf(h, "", key)).map(({ action }) => action);
}

Harness.test("every kind of change is in the log once, newest first, with its credential", async (h) => {
  const [started] = await entriesOf(h);
  const key = (await h.post("/v1/keys", { ...API_KEY, scopes: ["admin"] })).json;
  const as = { key: key.secret };
  await h.post("/v1/runs", aRun(1, { customer_id: "acme" }));
  const calls: (readonly [() => Promise<Answer>, string])[] = [
    [() => h.request("PUT", "/v1/rate-card", { ...as, body: PRICE }), "rate.put"],
    [
      () => h.request("PATCH", "/v1/agents/researcher", { ...as, body: { name: "Backup" } }),
      "agent.changed",
    ],
    [() => h.request("DELETE", `/v1/runs/${runId(1)}`, as), "run.deleted"],
    [() => h.request("DELETE", "/v1/customers/acme", as), "customer.deleted"],
    [
      () => h.post("/v1/rate-card/reprice", { model: PRICE.model, from: at(-1), to: at() }, as),
      "reprice.started",
    ],
  ];
  for (const [call, action] of calls) {
    h.nowMs += 1_000;
    const answer = await call();
    assert(answer.status < 300, answer.text);
    const [latest] = await entriesOf(h);
    assertEquals([latest?.action, latest?.actor], [action, { id: key.id, name: "ci" }]);
    assertEquals([latest?.at, latest?.team], [new Date(h.nowMs).toISOString(), h.team.id]);
    // A repeat changes nothing and adds no entry.
    const before = (await actionsOf(h)).length;
    if (action === "rate.put" || action === "agent.changed" || action === "run.deleted") {
      await call();
      assertEquals((await actionsOf(h)).length, before, action);
    }
  }
  assertEquals(started?.actor, { id: "settings", name: null });
  assertEquals((await actionsOf(h)).toReversed().slice(0, 3), [
    "team.created",
    "credential.created",
    "credential.created",
  ]);
});

Harness.test("the details show the old and new values, and no secret", async (h) => {
  const first = await put(h, PRICE);
  const second = (await put(h, { ...PRICE, input_usd_per_million: 3 })).json;
  const [changed] = await entriesOf(h);
  const { before, after } = changed?.details as Record<string, Record<string, unknown>>;
  assertEquals([before?.id, before?.input_usd_per_million], [first.json.id, 2.5]);
  assertEquals([after?.id, after?.input_usd_per_million], [second.id, 3]);
  await remove(h, second.id);
  assertEquals((await entriesOf(h))[0]?.action, "rate.deleted");
  const key = (await h.post("/v1/keys", API_KEY)).json;
  const rotated = (await h.post(`/v1/keys/${key.id}/rotate`, {})).json;
  await h.request("DELETE", `/v1/keys/${key.id}`);
  const [revoked, rotation] = await entriesOf(h);
  assertEquals([revoked?.action, revoked?.target], ["credential.revoked", key.id]);
  assertEquals(rotation?.details, {
    kind: "api_key",
    name: "ci",
    scopes: ["read"],
    replaced_by: rotated.id,
    ends_at: at(86_400_000),
  });
  const text = (await h.dump()).filter((line) => line.includes("audit_log")).join("\n") +
    (await h.get("/v1/audit")).text;
  for (const secret of [h.key, key.secret, rotated.secret]) {
    assert(!text.includes(secret.slice(-32)));
  }
});

Harness.test("refused calls and calls that change nothing are not in the log", async (h) => {
  const { id } = (await h.post("/v1/keys", API_KEY)).json;
  await h.request("DELETE", `/v1/keys/${id}`);
  const before = await entriesOf(h);
  await h.request("DELETE", `/v1/keys/${id}`);
  await h.post(`/v1/keys/${id}/rotate`, {});
  await h.post("/v1/keys", { kind: "api_key" });
  await h.request("DELETE", `/v1/runs/${runId(7)}`);
  await h.request("DELETE", "/v1/rate-card/rate_7");
  assertEquals(await entriesOf(h), before);
});

Harness.test("pages of the log continue where they ended, whatever happens meanwhile", async (h) => {
  const created: string[] = [];
  // Several in one millisecond keep their order.
  for (let n = 0; n < 7; n++) {
    if (n === 4) h.nowMs += 1;
    created.unshift((await h.post("/v1/keys", { ...API_KEY, name: `key ${n}` })).json.id);
  }
  const seen: string[] = [];
  let path = "/v1/audit?limit=2";
  for (;;) {
    const { entries, cursor } = (await h.get(path)).json;
    seen.push(...entries.map(({ target }: Entry) => target));
    if (cursor === null) break;
    h.nowMs += 1;
    await h.post("/v1/keys", API_KEY);
    path = `/v1/audit?limit=2&cursor=${cursor}`;
  }
  assertEquals(seen.slice(0, 7), created);
  assertEquals(seen.length, 9);
});

Harness.test("from and to bound the log, from inclusive and to exclusive", async (h) => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) {
    h.nowMs += 1_000;
    ids.push((await h.post("/v1/keys", API_KEY)).json.id);
  }
  const targets = async (query: string) => (await entriesOf(h, query)).map(({ target }) => target);
  assertEquals(await targets(`?from=${at(2_000)}`), [ids[2], ids[1]]);
  assertEquals(await targets(`?from=${at(1_000)}&to=${at(2_000)}`), [ids[0]]);
  const page = (await h.get(`/v1/audit?limit=1&from=${at(1_000)}`)).json;
  assertEquals(await targets(`?limit=9&from=${at(1_000)}&cursor=${page.cursor}`), [ids[1], ids[0]]);
  assertEquals(await targets(`?from=${at(3_000)}&cursor=${page.cursor}`), []);
  assertEquals(await targets(`?from=${at(2_000)}&to=${at(2_000)}`), []);
});

operator.test("the operator's changes are in the team's log and in the operator's, which omits the team's own changes", async (h) => {
  const { id, key } = await aTeam(h);
  await h.post("/v1/keys", API_KEY, { key: key.secret });
  h.nowMs += 1;
  await operate(h, "PATCH", `/v1/teams/${id}`, { suspended: true });
  h.nowMs += 1;
  await operate(h, "PATCH", `/v1/teams/${id}`, { suspended: true });
  await operate(h, "PATCH", `/v1/teams/${id}`, { suspended: false, name: "Renamed" });
  const own: Entry[] = (await operate(h, "GET", "/v1/audit")).json.entries;
  assertEquals(own.map(({ action }) => action), [
    "team.resumed",
    "team.suspended",
    "credential.created",
    "team.created",
  ]);
  for (const { team, actor } of own) {
    assertEquals([team, actor], [id, { id: "operator", name: null }]);
  }
  const { before, after } = own[0]?.details as Record<string, unknown>;
  assertEquals(before, { name: "Acme", suspended: true, suspended_at: at(1) });
  assertEquals(after, { name: "Renamed", suspended: false, suspended_at: null });
  const theirs = await entriesOf(h, "", key.secret);
  assertEquals(theirs.filter(({ actor }) => actor.id === "operator"), own);
  assertEquals(theirs.length, own.length + 1);
});

Harness.test("erasing a customer removes its id from every entry of the log", async (h) => {
  await h.post("/v1/runs", aRun(1, { customer_id: "a-person" }));
  const { id } = (await h.request("DELETE", "/v1/customers/a-person")).json;
  const [entry] = await entriesOf(h);
  assertEquals([entry?.action, entry?.target], ["customer.deleted", id]);
  const rows = (await h.dump()).filter((line) => line.includes("audit_log"));
  assert(!rows.join("\n").includes("a-person"));
});
