/** Settings that teams store under names: versions, pages, deletion, other teams, the audit log. */
import { assertEquals, assertMatch } from "@std/assert";
import { at } from "../support/builders/requests.ts";
import { Harness } from "../support/harness/harness.ts";

/** A kind of settings: its ids, its actions in the audit log, a body, and one field's new value. */
interface Kind {
  readonly id: string;
  readonly action: string;
  readonly body: Record<string, unknown>;
  readonly change: Record<string, unknown>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  budgets: {
    id: "grl",
    action: "budget",
    body: { scope: {}, period: "day", limit_usd: 5, mode: "hard" },
    change: { mode: "soft" },
  },
  channels: {
    id: "chn",
    action: "channel",
    body: { type: "email", to: ["ops@example.org"] },
    change: { include_error: false },
  },
  checks: {
    id: "chk",
    action: "check",
    body: { expression: "cost_usd < 1.0" },
    change: { severity: "info" },
  },
  monitors: {
    id: "mon",
    action: "monitor",
    body: { schedule: { every_seconds: 86_400 }, grace_seconds: 3_600 },
    change: { failure_threshold: 2 },
  },
  pauses: {
    id: "gps",
    action: "pause",
    body: { agent: "nightly", reason: "Provider down" },
    change: { reason: "Provider slow" },
  },
  rules: {
    id: "rul",
    action: "rule",
    body: { kind: "run_cost", params: { usd: 0.1, runs: "root" } },
    change: { severity: "critical" },
  },
  silences: {
    id: "sil",
    action: "silence",
    body: { match: { rules: [], agents: ["nightly*"], customers: [] }, until: at(3_600_000) },
    change: { comment: "short" },
  },
};

const NAMES = ["mine.a", "mine.b", "mine.c"];

for (const [kind, { id, action, body, change }] of Object.entries(KINDS)) {
  const pathOf = (name: string) =>
    kind === "monitors" ? `/v1/agents/${name}/monitor` : `/v1/${kind}/${name}`;

  Harness.test(`${kind}: a change is a version, and the same settings or another version change nothing`, async (h) => {
    if (kind === "monitors") {
      for (const agent of NAMES) await h.post("/v1/heartbeats", { agent });
    }
    const [path = ""] = NAMES.map(pathOf);
    const put = (fields: Record<string, unknown>) =>
      h.request("PUT", path, { body: { ...body, ...fields } });
    const assertConflict = async (version: number) => {
      const { status, json } = await put({ version });
      assertEquals([status, json.error, json.field], [409, "version_conflict", "version"]);
    };
    await assertConflict(1);
    assertEquals((await h.get(path)).status, 404);
    const first = await put({});
    assertEquals([first.status, first.headers.get("idempotent-replayed")], [202, null], first.text);
    assertMatch(first.json.id, new RegExp(`^${id}_eu_[0-9a-f]{32}$`));
    assertMatch(first.json.updated_by, /^key_eu_/);
    const { version, created_at, updated_at } = first.json;
    assertEquals([version, created_at, updated_at], [1, at(), at()]);
    h.nowMs += 1_000;
    for (const fields of [{}, { version: 1 }]) {
      const again = await put(fields);
      assertEquals([again.status, again.headers.get("idempotent-replayed")], [200, "true"]);
      assertEquals(again.text, first.text);
    }
    const next = await put({ ...change, version: 1 });
    const dated = { version: 2, updated_at: at(1_000) };
    assertEquals([next.status, next.json], [202, { ...first.json, ...change, ...dated }]);
    for (const version of [1, 3]) await assertConflict(version);
    const read = (await h.get(path)).json;
    for (const [field, value] of Object.entries(next.json)) assertEquals(read[field], value, field);
  });

  Harness.test(`${kind}: listed in pages, deleted once, for their team alone, and each change is logged`, async (h) => {
    if (kind === "monitors") {
      for (const agent of NAMES) await h.post("/v1/heartbeats", { agent });
    }
    for (const name of NAMES.toReversed()) await h.request("PUT", pathOf(name), { body });
    const [path = ""] = NAMES.map(pathOf);
    const listed: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { json } = await h.get(`/v1/${kind}?limit=2${more}`);
      listed.push(...json[kind].map((each: Record<string, string>) => each.slug ?? each.agent));
      cursor = json.cursor;
    }
    assertEquals(listed.filter((name) => name.startsWith("mine.")), NAMES);
    const { key } = await h.addTeam("business");
    for (const method of ["GET", "DELETE"]) {
      assertEquals((await h.request(method, path, { key })).status, 404);
    }
    const changed = await h.request("PUT", path, { body: { ...body, ...change } });
    const removed = await h.request("DELETE", path);
    assertEquals([removed.status, removed.json.id], [200, changed.json.id]);
    for (const method of ["GET", "DELETE"]) {
      assertEquals((await h.request(method, path)).status, 404);
    }
    const { entries } = (await h.get("/v1/audit")).json;
    const [created, put, deleted, ...others] = entries.toReversed()
      .filter(({ target }: { target: string }) => target === NAMES[0])
      .map(({ action, details }: Record<string, unknown>) => ({ action, ...details as object }));
    assertEquals(others, []);
    assertEquals(created, { action: `${action}.put`, before: null, after: created.after });
    const before = Object.fromEntries(
      Object.keys(change).map((field) => [field, created.after[field]]),
    );
    assertEquals(put, { action: `${action}.put`, before, after: change });
    const last = { ...created.after, ...change };
    assertEquals(deleted, { action: `${action}.deleted`, before: last, after: null });
  });
}
