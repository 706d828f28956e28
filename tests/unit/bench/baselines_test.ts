/** A baseline must keep what it is given, or beating it would mean nothing. */
import { assertEquals } from "@std/assert";
import { createBaseline } from "../../../bench/baselines.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { EventId, RunId, TeamId } from "../../../domain/core/ids.ts";
import type { RunEvent } from "../../../domain/runs/event.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { eventId, runId } from "../../support/builders/requests.ts";

const TEAM: Team = { id: "T" as TeamId, name: "team", tier: "business" };
const RUN = runId(1) as RunId;
const AT = Date.UTC(2026, 10, 1);

function event(n: number): RunEvent {
  const data = `{"message":"line ${n}"}` as RawJson;
  return { id: eventId(n) as EventId, type: "log", ts: AT + n, data, facts: { error: false } };
}

async function usageIn(kv: Deno.Kv): Promise<bigint | undefined> {
  return (await kv.get<Deno.KvU64>(["usage", TEAM.id, "2026-11"])).value?.value;
}

Deno.test("baseline: each event is a key of its own and counts once", async () => {
  using kv = await Deno.openKv(":memory:");
  const runs = createBaseline(kv);
  const batch = Array.from({ length: 30 }, (_, n) => event(n));
  assertEquals(await runs.append(TEAM, RUN, batch, AT), {
    kind: "stored",
    accepted: 30,
    duplicates: 0,
  });
  const overlapping = [...batch.slice(5), event(30), event(30)];
  assertEquals(await runs.append(TEAM, RUN, overlapping, AT), {
    kind: "stored",
    accepted: 1,
    duplicates: 26,
  });
  assertEquals(await usageIn(kv), 31n);
  const stored = await Array.fromAsync(kv.list<string>({ prefix: ["run", RUN, TEAM.id, "event"] }));
  assertEquals(stored.length, 31);
  assertEquals(JSON.parse(stored[3]?.value ?? "").data, { message: "line 3" });
});

Deno.test("baseline: the first finish wins and is counted once", async () => {
  using kv = await Deno.openKv(":memory:");
  const runs = createBaseline(kv);
  const first = await runs.finish(TEAM, RUN, { status: "success", finishedAt: AT }, AT);
  const second = await runs.finish(TEAM, RUN, { status: "failed", finishedAt: AT }, AT);
  assertEquals([first.kind, second.kind], ["stored", "replayed"]);
  assertEquals(second.kind === "replayed" && second.parts.closing?.status, "success");
  assertEquals(await usageIn(kv), 1n);
});
