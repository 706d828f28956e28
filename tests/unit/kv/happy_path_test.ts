/** Store operations of an ordinary run: commits only, and a read only for a repeat. */
import { runStoreOf } from "../../support/harness/stores.ts";
import { assertEquals } from "@std/assert";
import type { Team } from "../../../domain/teams/team.ts";
import type { EventId, RunId, TeamId } from "../../../domain/core/ids.ts";
import type { FinishRequest, HeartbeatRequest, OpenRequest } from "../../../domain/runs/decide.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import type { RunStore } from "../../../domain/runs/run_store.ts";
import { createRateCardStore } from "../../../kv/rate_cards/rate_cards.ts";
import { RecentIds } from "../../../kv/runs/run_store.ts";
import { eventId, runId } from "../../support/builders/requests.ts";
import { NOON } from "../../support/harness/harness.ts";
import { TempStore } from "../../support/harness/temp_store.ts";

const TEAM: Team = { id: "team" as TeamId, name: "team", tier: "enterprise" };
const id = (n: number) => runId(n) as RunId;
const open = (n: number): OpenRequest => ({ id: id(n), agent: "a", startedAt: NOON });
const finish: FinishRequest = { status: "success", finishedAt: NOON + 1 };
const beat = (n: number, status: HeartbeatRequest["status"]): HeartbeatRequest => ({
  id: id(n),
  agent: "a",
  status,
  reported: {},
});
const event = (n: number): RunEvent => ({
  id: eventId(n) as EventId,
  type: "log",
  ts: NOON,
  data: "{}" as RawJson,
  facts: { error: false },
});

/** A ledger of runs that counts reads, with its agent and rate card already cached. */
async function counted(temp: TempStore): Promise<{ runs: RunStore; reads: () => number }> {
  let reads = 0;
  const { reader, ...rest } = temp.store;
  const counting = new Proxy(reader, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        reads++;
        return member.apply(target, args);
      };
    },
  });
  const store = { ...rest, reader: counting };
  const cards = createRateCardStore(store, { now: () => NOON });
  const runs = runStoreOf(store, cards);
  await runs.open(TEAM, open(999), NOON);
  await cards.card(TEAM);
  reads = 0;
  return { runs, reads: () => reads };
}

TempStore.test("no call of an ordinary run reads: open, events, finish, heartbeats", async (temp) => {
  const { runs, reads } = await counted(temp);
  const kinds = [
    (await runs.open(TEAM, open(1), NOON)).kind,
    (await runs.finish(TEAM, id(1), finish, NOON)).kind,
    (await runs.heartbeat(TEAM, beat(2, "ok"), NOON)).kind,
    (await runs.heartbeat(TEAM, beat(3, "start"), NOON)).kind,
  ];
  assertEquals(kinds, Array(4).fill("stored"));
  for (const n of [1, 2, 3]) {
    const counts = await runs.append(TEAM, id(1), [event(n), event(n + 1)], NOON);
    const [accepted, duplicates] = n === 1 ? [2, 0] : [1, 1];
    assertEquals(counts, { kind: "stored", accepted, duplicates, cost: 0n });
  }
  assertEquals(reads(), 0);
  // The close of a started heartbeat needs its opening.
  assertEquals((await runs.heartbeat(TEAM, beat(3, "fail"), NOON)).kind, "stored");
  assertEquals(reads(), 1);
});

TempStore.test("a repeated call reads once and commits nothing", async (temp) => {
  const { runs, reads } = await counted(temp);
  const calls = [
    () => runs.open(TEAM, open(1), NOON),
    () => runs.finish(TEAM, id(1), finish, NOON),
    () => runs.heartbeat(TEAM, beat(2, "start"), NOON),
    () => runs.heartbeat(TEAM, beat(3, "ok"), NOON),
  ];
  for (const call of calls) {
    assertEquals((await call()).kind, "stored");
    const before = reads();
    const version = await lastVersion(temp);
    assertEquals((await call()).kind, "replayed");
    assertEquals(reads() - before, 1);
    assertEquals(await lastVersion(temp), version);
  }
});

TempStore.test("a start repeated after the close returns the close, whichever call closed the run", async (temp) => {
  const { runs } = await counted(temp);
  await runs.heartbeat(TEAM, beat(1, "start"), NOON);
  // Another process on a shared store has an empty cache.
  await runStoreOf(temp.store).finish(TEAM, id(1), finish, NOON);
  const again = await runs.heartbeat(TEAM, beat(1, "start"), NOON);
  assertEquals(again.kind === "replayed" && again.parts.closing?.status, "success");
  const late = await runs.heartbeat(TEAM, beat(1, "fail"), NOON);
  assertEquals(late.kind === "replayed" && late.parts.closing?.status, "success");
});

Deno.test("recently written ids are remembered, those from two generations ago are not", () => {
  // Two generations of two ids.
  const ids = new RecentIds(480);
  for (const id of ["a", "b", "c"]) ids.add(id);
  assertEquals(["a", "b", "c", "d"].map((id) => ids.has(id)), [true, true, true, false]);
  for (const id of ["d", "e"]) ids.add(id);
  assertEquals(["a", "c", "e"].map((id) => ids.has(id)), [false, true, true]);
});

async function lastVersion(temp: TempStore): Promise<string> {
  const versions = await Array.fromAsync(
    temp.store.reader.list({ prefix: [] }),
    ({ versionstamp }) => versionstamp,
  );
  return versions.sort().at(-1) ?? "";
}
