/** Attacks on runs with very many or very large events: appends, reads, waits and deletions. */
import { DESCENDANTS } from "../../../../domain/core/limits.ts";
import { type Attack, type Attacker, must, RATE, sendUntilAccepted } from "../attacker.ts";
import { aCall, anEvent, events, gzip, instant, newId, padded } from "../values.ts";

/** Waiting calls and open streams that a team may have. */
const SLOTS = 50;

/** A character of 3 bytes in UTF-8 and one unit in memory. */
const THREE_BYTES = "€";

async function open(attacker: Attacker, fields: object = {}): Promise<string> {
  const id = newId("run");
  must(await attacker.post("/v1/runs", { id, agent: "a", started_at: instant(), ...fields }));
  return id;
}

/** Appends batches to a run. */
async function append(
  attacker: Attacker,
  run: string,
  batches: number,
  batch: () => unknown,
  atOnce?: number,
): Promise<void> {
  await attacker.times(batches, async () => {
    const body = gzip(batch());
    await sendUntilAccepted(() => attacker.post(`/v1/runs/${run}/events`, body));
  }, atOnce);
}

/** Stores a run of 500 MB, all events at one instant. */
async function storeOneInstant(attacker: Attacker): Promise<string[]> {
  const run = await open(attacker);
  const fields = { ts: instant() };
  const data = { message: "m".repeat(250_000) };
  await append(attacker, run, 500, () => events(4, () => anEvent(data, fields)), 8);
  return [run];
}

/** Stores 205,000 events: more than the service caches ids of for one run. */
async function storeGrown(attacker: Attacker): Promise<string[]> {
  const run = await open(attacker);
  await append(attacker, run, 3_950, () => events(50));
  // A service that is overloaded by long runs would refuse many in parallel from here on.
  await append(attacker, run, 150, () => events(50), 2);
  return [run];
}

/** Stores a page of events of 240 kB of UTF-8 each; returns the path of the page. */
async function storeLargePage(attacker: Attacker): Promise<string[]> {
  const run = await open(attacker);
  const data = { message: THREE_BYTES.repeat(80_000) };
  await append(attacker, run, 26, () => events(4, () => anEvent(data)), 4);
  return [`/v1/runs/${run}?events_limit=1000`];
}

/** Stores the largest tree whose cost a record includes, with the most generations. */
async function storeFamily(attacker: Attacker): Promise<string[]> {
  const root = await open(attacker);
  let parents = [root];
  for (let n = 0; n < DESCENDANTS.generations; n++) {
    const children: string[] = [];
    await attacker.times(DESCENDANTS.max / DESCENDANTS.generations, async (k) => {
      children.push(await open(attacker, { parent_run_id: parents[k % parents.length] }));
    });
    parents = children;
  }
  return [`/v1/runs/${root}`];
}

export const LARGE_RUNS: readonly Attack[] = [
  {
    name: "events of one instant",
    does: "one event per page of a run whose 500 MB of events share one instant, and their cost",
    setUp: storeOneInstant,
    run: (attacker, [run]) =>
      attacker.read([`/v1/runs/${run}?events_limit=1`, `/v1/runs/${run}/cost?events_limit=1`]),
  },
  {
    name: "grown run",
    does: "batches of 1 MiB by 60 clients to a run of 205,000 events",
    setUp: storeGrown,
    run(attacker, [run]) {
      const send = () => attacker.post(`/v1/runs/${run}/events`, padded(events(50)));
      return attacker.pace(RATE.ingest, send, 60);
    },
  },
  {
    name: "unread answers",
    does: "the largest pages of events, to 300 connections that read nothing",
    setUp: storeLargePage,
    run: (attacker, [path = ""]) => attacker.unread(300, attacker.head("GET", path)),
  },
  {
    name: "answers that are read slowly",
    does: "the largest pages of events, to 300 connections that read 4 kB a second",
    setUp: storeLargePage,
    run: (attacker, [path = ""]) => attacker.sipped(300, attacker.head("GET", path), 4_096),
  },
  {
    name: "largest pages, compressed",
    does: "the largest pages of events, read as fast as they arrive, with gzip",
    setUp: storeLargePage,
    run: (attacker, paths) => attacker.read(paths, { headers: { "Accept-Encoding": "gzip" } }),
  },
  {
    name: "late events of the largest run",
    does: "one late call at a time to a closed run with 10,000 calls, and calls that wait for it",
    async setUp(attacker) {
      const run = await open(attacker);
      const calls = () => events(50, (n) => aCall("openai", `model-${n % 20}`));
      await append(attacker, run, 200, calls);
      const close = { status: "success", finished_at: instant() };
      must(await attacker.post(`/v1/runs/${run}/finish`, close));
      return [run];
    },
    run(attacker, [run]) {
      const late = () => events(1, () => aCall("a", "b"));
      return Promise.all([
        attacker.clients(SLOTS, () => attacker.get(`/v1/runs/${run}?wait=final&timeout=60`)),
        attacker.pace(RATE.ingest, () => attacker.post(`/v1/runs/${run}/events`, late())),
      ]);
    },
  },
  {
    name: "largest family",
    does: "a run with 200 descendants in 10 generations",
    setUp: storeFamily,
    run: (attacker, paths) => attacker.read(paths),
  },
];
