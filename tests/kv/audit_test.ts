/** The audit: exact where all is well, and no damage that it does not find. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { TeamId } from "../../domain/credentials.ts";
import type { RunId } from "../../domain/ids.ts";
import { auditStore } from "../../kv/audit.ts";
import { decodeBatch, encodeBatch, encodePart } from "../../kv/codec.ts";
import { decodeSummary, encodeSummary } from "../../kv/codec_summary.ts";
import { keys } from "../../kv/keys.ts";
import { openBeside } from "../../kv/open.ts";
import { readParts } from "../../kv/runs.ts";
import { blobWrite, newName, readBlob } from "../../kv/store.ts";
import { anEvent, aRun, events, runId } from "../support/builders.ts";
import { Harness } from "../support/harness.ts";
import { fill, FILLED } from "../support/ledger_of_everything.ts";

const RUN = runId(1) as RunId;

/** Values to write and keys to remove behind the service's back. */
interface Damage {
  readonly sets?: { key: Deno.KvKey; value: unknown }[];
  readonly deletes?: Deno.KvKey[];
}

/** Does damage, audits, and mends it again. */
async function auditDamaged(h: Harness, { sets = [], deletes = [] }: Damage) {
  const touched = [...sets.map(({ key }) => key), ...deletes];
  const before = await Promise.all(touched.map((key) => h.store.reader.get(key)));
  await h.store.writer.commit({ sets, deletes });
  const result = await auditStore(h.store);
  await h.store.writer.commit({
    sets: before.filter(({ versionstamp }) => versionstamp !== null),
    deletes: before.filter(({ versionstamp }) => versionstamp === null).map(({ key }) => key),
  });
  return result;
}

async function valueOf(h: Harness, key: Deno.KvKey): Promise<unknown> {
  const { value, versionstamp } = await h.store.reader.get(key);
  assert(versionstamp !== null, `nothing at ${key.join(" ")}`);
  return value;
}

/** The first roll-up of a kind. */
async function aRollup(h: Harness, kind: string) {
  const prefix = ["rollup", h.team.id, kind];
  const [entry] = await Array.fromAsync(h.store.reader.list<Uint8Array>({ prefix }, { limit: 1 }));
  assert(entry !== undefined);
  const row = JSON.parse(new TextDecoder().decode(entry.value));
  return { key: entry.key, row, write: (to: unknown) => new TextEncoder().encode(json(to)) };
}

function json(value: unknown): string {
  return JSON.stringify(value);
}

/** The first batch of the first run, changed. */
async function changedBatch(
  h: Harness,
  change: (batch: ReturnType<typeof decodeBatch>) => ReturnType<typeof decodeBatch>,
): Promise<Damage> {
  const key = keys.batch(h.team.id, RUN, 0);
  const text = await readBlob(h.store, h.team.id, RUN, await valueOf(h, key));
  const { events, prices } = change(decodeBatch(text ?? ""));
  const stored = events.map((event) => ({ ...event, facts: { error: false } }));
  const encoded = encodeBatch(stored, h.nowMs, prices);
  return { sets: [...blobWrite(h.team.id, RUN, key, encoded).sets] };
}

/** Each kind of damage, and words of a difference that tells of it. */
const DAMAGES: Record<string, { says: string; make: (h: Harness) => Promise<Damage> }> = {
  "the cost of a roll-up is changed": {
    says: "roll-up customer",
    async make(h) {
      const { key, row, write } = await aRollup(h, "customer");
      const cost = `${BigInt(row.measures.cost) + 1n}`;
      return { sets: [{ key, value: write({ ...row, measures: { ...row.measures, cost } }) }] };
    },
  },
  "a roll-up is of another group": {
    says: "roll-up agent",
    async make(h) {
      const { key, row, write } = await aRollup(h, "agent");
      return { sets: [{ key, value: write({ ...row, group: { kind: "agent", value: "x" } }) }] };
    },
  },
  "a roll-up is gone": {
    says: "roll-up model_cell",
    make: async (h) => ({ deletes: [(await aRollup(h, "model_cell")).key] }),
  },
  "a roll-up is no roll-up": {
    says: "roll-up total",
    make: async (h) => ({ sets: [{ key: (await aRollup(h, "total")).key, value: 1 }] }),
  },
  "there is a roll-up too many": {
    says: "roll-up total 2020-01-01",
    async make(h) {
      const { row, write } = await aRollup(h, "total");
      const key = keys.rollup(h.team.id, "total", "2020-01-01", '["total"]');
      return { sets: [{ key, value: write(row) }] };
    },
  },
  "a summary is gone": {
    says: `summary of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.summary(h.team.id, RUN)] }),
  },
  "a summary has another customer": {
    says: `summary of ${RUN}`,
    async make(h) {
      const key = keys.summary(h.team.id, RUN);
      const summary = decodeSummary(await valueOf(h, key) as Uint8Array);
      const { contribution } = summary;
      assert(contribution !== null);
      const labels = { ...contribution.labels, customer: "other" };
      const value = encodeSummary({ ...summary, contribution: { ...contribution, labels } });
      return { sets: [{ key, value }] };
    },
  },
  "a summary without any part": {
    says: `summary of ${runId(99)}`,
    async make(h) {
      const value = await valueOf(h, keys.summary(h.team.id, RUN));
      return { sets: [{ key: keys.summary(h.team.id, runId(99) as RunId), value }] };
    },
  },
  "usage is one more": {
    says: "usage of 2026-11",
    async make(h) {
      const key = keys.usage(h.team.id, "2026-11");
      const { value } = await valueOf(h, key) as Deno.KvU64;
      return { sets: [{ key, value: new Deno.KvU64(value + 1n) }] };
    },
  },
  "usage of a month is gone": {
    says: "usage of 2026-12",
    make: (h) => Promise.resolve({ deletes: [keys.usage(h.team.id, "2026-12")] }),
  },
  "usage of a month without any call": {
    says: "usage of 2020-01",
    make(h) {
      const key = keys.usage(h.team.id, "2020-01");
      return Promise.resolve({ sets: [{ key, value: new Deno.KvU64(1n) }] });
    },
  },
  "a batch is gone": {
    says: `batch 1 of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.batch(h.team.id, RUN, 1)] }),
  },
  "a batch that the ledger does not count": {
    says: `batch 3 of ${RUN}`,
    async make(h) {
      const value = await valueOf(h, keys.batch(h.team.id, RUN, 0));
      return { sets: [{ key: keys.batch(h.team.id, RUN, 3), value }] };
    },
  },
  "a stored price is changed": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedBatch(h, ({ events, prices }) => ({
        events,
        prices: {
          ...prices,
          costs: prices.costs.map((cost) => cost === 0 ? 0 : BigInt(cost) + 1n),
        },
      })),
  },
  "an event lost its price": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedBatch(h, ({ events, prices }) => ({
        events,
        prices: { ...prices, by: prices.by.map(() => -1) },
      })),
  },
  "an event is gone": {
    says: `event totals of ${RUN}`,
    make: (h) => changedBatch(h, ({ events, prices }) => ({ events: events.slice(0, 2), prices })),
  },
  "tokens of an event are others": {
    says: `event totals of ${RUN}`,
    make: (h) =>
      changedBatch(h, ({ events, prices }) => ({
        prices,
        events: events.map((event) => ({
          ...event,
          data: event.data.replace('"output_tokens":1', '"output_tokens":2') as typeof event.data,
        })),
      })),
  },
  "a ledger is gone": {
    says: `batch 0 of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.ledger(h.team.id, RUN)] }),
  },
  "a close is gone": {
    says: `summary of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.closing(h.team.id, RUN)] }),
  },
  "an opening is gone": {
    says: `summary of ${RUN}`,
    make: (h) => Promise.resolve({ deletes: [keys.opening(h.team.id, RUN)] }),
  },
  "an opening is of another agent": {
    says: "roll-up agent",
    async make(h) {
      const key = keys.opening(h.team.id, RUN);
      const { opening } = await readParts(h.store, h.team.id, RUN, await valueOf(h, key), null);
      assert(opening !== null);
      const text = encodePart({ ...opening, agent: "another" });
      return { sets: [...blobWrite(h.team.id, RUN, key, text).sets] };
    },
  },
  "a piece of a large value is gone": {
    says: `parts of ${RUN}`,
    async make(h) {
      const prefix = ["run", RUN, h.team.id, "chunk"];
      const [chunk] = await Array.fromAsync(h.store.reader.list({ prefix }, { limit: 1 }));
      assert(chunk !== undefined);
      return { deletes: [chunk.key] };
    },
  },
  "the count of agents is another": {
    says: "count of agents",
    make: (h) => Promise.resolve({ sets: [{ key: keys.agentCount(h.team.id), value: 4 }] }),
  },
  "the index of models lacks a run": {
    says: `for ${RUN}`,
    async make(h) {
      const prefix = ["model_run", h.team.id];
      const rows = await Array.fromAsync(h.store.reader.list({ prefix }), ({ key }) => key);
      const own = rows.find((key) => key.at(-1) === RUN);
      assert(own !== undefined);
      return { deletes: [own] };
    },
  },
};

Deno.test("audit: a ledger with everything in it is exact", async () => {
  await using h = await Harness.open();
  await fill(h);
  let told = 0;
  const result = await auditStore(h.store, { onRun: () => told++ });
  assertEquals(result.differences, []);
  assertEquals([result.differenceCount, result.teams.length], [0, 2]);
  const first = result.teams.find(({ team }) => team === h.team.id);
  assertEquals(first, { team: h.team.id, state: "exact", ...FILLED, differences: 0 });
  assertEquals([result.runs, result.events, told], [FILLED.runs + 2, FILLED.events + 1, 12]);
});

Deno.test("audit: an empty ledger is exact", async () => {
  await using h = await Harness.open();
  const result = await auditStore(h.store);
  const team = { team: h.team.id, state: "exact", runs: 0, events: 0, differences: 0 };
  assertEquals(result.teams, [team as typeof result.teams[number]]);
});

Deno.test("audit: every kind of damage is found, in the team that has it", async (t) => {
  await using h = await Harness.open();
  await fill(h);
  for (const [name, { says, make }] of Object.entries(DAMAGES)) {
    await t.step(name, async () => {
      const result = await auditDamaged(h, await make(h));
      const whats = result.differences.map(({ what }) => what);
      assert(whats.some((what) => what.includes(says)), `${says} is not in ${json(whats)}`);
      assertEquals(result.differenceCount, whats.length);
      assertEquals(new Set(result.differences.map(({ team }) => team)), new Set([h.team.id]));
      const states = result.teams.map(({ team, state }) => [team === h.team.id, state]);
      assertEquals(new Set(states.map(json)), new Set(['[true,"different"]', '[false,"exact"]']));
    });
  }
  assertEquals((await auditStore(h.store)).differences, []);
});

Deno.test("audit: a difference says what the parts give and what is stored, and only what differs", async () => {
  await using h = await Harness.open();
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  const { key, row, write } = await aRollup(h, "total");
  const value = write({ ...row, measures: { ...row.measures, runs: 5 } });
  const { differences } = await auditDamaged(h, { sets: [{ key, value }] });
  assertEquals(differences, [{
    team: h.team.id,
    what: 'roll-up total 2026-11-21 ["total"]',
    expected: "runs 1",
    found: "runs 5",
  }]);
});

Deno.test("audit: 100 differences are listed and all are counted", async () => {
  await using h = await Harness.open();
  const { row, write } = { ...await withARollup(h) };
  const sets = Array.from({ length: 150 }, (_, n) => ({
    key: keys.rollup(h.team.id, "total", `2020-01-01`, `["${n}"]`),
    value: write(row),
  }));
  const result = await auditDamaged(h, { sets });
  assertEquals([result.differences.length, result.differenceCount], [100, 150]);
});

async function withARollup(h: Harness) {
  await h.post("/v1/runs", aRun(1));
  await h.worker.idle();
  return await aRollup(h, "total");
}

Deno.test("audit: one team can be audited alone", async () => {
  await using h = await Harness.open();
  await fill(h);
  const result = await auditStore(h.store, { team: h.team.id });
  assertEquals(result.teams.map(({ team }) => team), [h.team.id]);
  assertEquals([result.runs, result.differenceCount], [FILLED.runs, 0]);
});

Deno.test("audit: a team with runs that wait to be summed up is busy, others are compared", async () => {
  await using h = await Harness.open();
  await fill(h);
  const before = await auditStore(h.store);
  await h.worker.stop();
  await h.post(`/v1/runs/${runId(8)}/events`, { events: events(400, 401) });
  const result = await auditStore(h.store, { pauseMs: 1 });
  const states = Object.fromEntries(result.teams.map(({ team, state }) => [team, state]));
  const other = before.teams.find(({ team }) => team !== h.team.id)?.team as TeamId;
  assertEquals(states, { [h.team.id]: "busy", [other]: "exact" });
  assertEquals(result.differences, []);
});

Deno.test("audit: a run whose cost was given up is told once, and its roll-ups are as before", async () => {
  await using h = await Harness.open();
  await fill(h);
  await h.worker.stop();
  await h.post(`/v1/runs/${runId(8)}/events`, { events: [anEvent(400)] });
  const marks = await Array.fromAsync(h.store.reader.list({ prefix: ["dirty"] }), (row) => row.key);
  const cost = { stage: "cost", state: "dead", attempts: 8, at: 0, error: "TypeError: odd" };
  const key = keys.processing(h.team.id, runId(8) as RunId);
  const value = { revision: 0, stages: [cost] };
  const { differences } = await auditDamaged(h, { sets: [{ key, value }], deletes: marks });
  assertEquals(differences.map(({ what }) => what), [`cost of ${runId(8)}`]);
  assertStringIncludes(differences[0]?.found ?? "", "TypeError: odd");
});

Deno.test("audit: beside a service under load it reads only, and finds it exact once it rests", async () => {
  await using h = await Harness.open();
  await fill(h);
  const beside = await openBeside(h.path);
  try {
    let working = true;
    const writing = (async () => {
      for (let n = 1_000; working; n++) {
        const sent = await h.post("/v1/runs", aRun(n, { id: `run_eu_${hex(n)}` }));
        assertEquals(sent.status, 202);
        const answer = await h.post(`/v1/runs/run_eu_${hex(n)}/events`, {
          events: events(n, n + 3),
        });
        assertEquals(answer.status, 202);
      }
    })();
    for (let round = 0; round < 5; round++) {
      const { differences } = await auditStore(beside, { pauseMs: 1 });
      assertEquals(differences, []);
    }
    working = false;
    await writing;
    await h.worker.idle();
    const { teams, runs } = await auditStore(beside);
    assertEquals(teams.map(({ state }) => state), ["exact", "exact"]);
    assert(runs > FILLED.runs + 3);
  } finally {
    await beside.close();
  }
});

function hex(n: number): string {
  return n.toString(16).padStart(32, "0");
}

Deno.test("open: a file that is not there is not made by who opens it beside a service", async () => {
  const path = `/tmp/${newName()}.kv`;
  for (const location of [path, ":memory:"]) {
    const refused = await openBeside(location).then(() => null, (error) => error);
    assertEquals(refused?.name, "StoreRefused");
  }
  assertEquals(await Deno.stat(path).catch(() => null), null);
});
