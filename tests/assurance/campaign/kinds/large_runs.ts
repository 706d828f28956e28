/** Attacks on runs with very many or very large events: appends, reads, waits and deletions. */
import { DESCENDANTS } from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, must, RATE, sendUntilAccepted } from "../attacker.ts";
import { aCall, anEvent, events, gzip, instant, newId, Padded, THREE_BYTES } from "../values.ts";

/** Set-up result: a stored run. */
interface StoredRun {
  readonly run: string;
}

/** Waiting calls and open streams that a team may have. */
const SLOTS = 50;

/** Readers that wait for a response in parallel. */
const READERS = 64;

async function open(attacker: Attacker, fields: object = {}): Promise<string> {
  const id = newId("run");
  must(await attacker.post("/v1/runs", { id, agent: "a", started_at: instant(), ...fields }));
  return id;
}

/** Appends batches of 50 small events. */
async function grow(
  attacker: Attacker,
  run: string,
  batches: number,
  atOnce?: number,
): Promise<void> {
  await attacker.times(batches, async () => {
    const batch = gzip(events(50));
    await sendUntilAccepted(() => attacker.post(`/v1/runs/${run}/events`, batch));
  }, atOnce);
}

/** Stores 500 batches of 1 MB, all events at one instant. */
async function storeOneInstant(attacker: Attacker): Promise<StoredRun> {
  const run = await open(attacker);
  const ts = instant();
  const data = { message: "m".repeat(250_000) };
  await attacker.times(500, async () => {
    const batch = gzip(events(4, () => anEvent(data, { ts })));
    must(await attacker.post(`/v1/runs/${run}/events`, batch));
  }, 8);
  return { run };
}

/** Stores 205,000 events: more than the service caches ids of for one run. */
async function storeGrown(attacker: Attacker): Promise<StoredRun> {
  const run = await open(attacker);
  await grow(attacker, run, 3_950);
  // A service that is overloaded by long runs would refuse many in parallel from here on.
  await grow(attacker, run, 150, 2);
  return { run };
}

/** Stores a page of events of 240 kB of UTF-8 each, in characters of 3 bytes. */
async function storeLargePage(attacker: Attacker): Promise<StoredRun> {
  const run = await open(attacker);
  const data = { message: THREE_BYTES.repeat(80_000) };
  await attacker.times(26, async () => {
    const batch = gzip(events(4, () => anEvent(data)));
    must(await attacker.post(`/v1/runs/${run}/events`, batch));
  }, 4);
  return { run };
}

/** Stores 10,000 calls of 20 models. */
async function storeCalls(attacker: Attacker): Promise<StoredRun> {
  const run = await open(attacker);
  await attacker.times(200, async () => {
    const batch = gzip(events(50, (n) => aCall("openai", `model-${n % 20}`)));
    must(await attacker.post(`/v1/runs/${run}/events`, batch));
  });
  return { run };
}

/** Stores the largest tree whose cost a record includes, with the most generations. */
async function storeFamily(attacker: Attacker): Promise<StoredRun> {
  const root = await open(attacker);
  let parents = [root];
  for (let n = 0; n < DESCENDANTS.generations; n++) {
    const children: string[] = [];
    await attacker.times(DESCENDANTS.max / DESCENDANTS.generations, async (k) => {
      const parent = parents[k % parents.length];
      children.push(await open(attacker, { parent_run_id: parent }));
    });
    parents = children;
  }
  return { run: root };
}

function read(attacker: Attacker, path: string, headers: Record<string, string> = {}) {
  return attacker.pace(RATE.control, () => attacker.get(path, headers), READERS);
}

export const largeRuns: readonly Attack[] = [
  attack<StoredRun>({
    name: "events of one instant",
    finding: "C2",
    does: "one event per page of a run whose 500 MB of events share one instant",
    setUp: storeOneInstant,
    run: (attacker, { run }) => read(attacker, `/v1/runs/${run}?events_limit=1`),
  }),
  attack<StoredRun>({
    name: "cost of one instant",
    finding: "C2",
    does: "the cost of that run, one event per page",
    setUp: storeOneInstant,
    run: (attacker, { run }) => read(attacker, `/v1/runs/${run}/cost?events_limit=1`),
  }),
  attack<StoredRun>({
    name: "waiting for one instant",
    finding: "C2",
    does: "50 calls that wait for that run to be final, while it changes all the time",
    setUp: storeOneInstant,
    async run(attacker, { run }) {
      await Promise.all([
        attacker.clients(SLOTS, () => attacker.get(`/v1/runs/${run}?wait=final&timeout=60`)),
        attacker.pace(RATE.ingest, () => attacker.post(`/v1/runs/${run}/events`, events(1))),
      ]);
    },
  }),
  attack<StoredRun>({
    name: "grown run",
    finding: "H4",
    does: "batches of 1 MiB by 60 clients to a run of 205,000 events",
    setUp: storeGrown,
    async run(attacker, { run }) {
      const padded = new Padded(20_000);
      const append = () => attacker.post(`/v1/runs/${run}/events`, padded.of(events(50)));
      await attacker.pace(RATE.ingest, append, 60);
    },
  }),
  attack<{ runs: readonly [string, string] }>({
    name: "two grown runs in turn",
    finding: "H4",
    does: "one event at a time to two runs of 110,000 events, in turn",
    async setUp(attacker) {
      const runs = [await open(attacker), await open(attacker)] as const;
      for (const run of runs) await grow(attacker, run, 2_200);
      return { runs };
    },
    run: (attacker, { runs }) =>
      attacker.pace(
        RATE.ingest,
        (n) => attacker.post(`/v1/runs/${runs[n % 2]}/events`, events(1)),
      ),
  }),
  attack<StoredRun>({
    name: "reading a grown run",
    finding: null,
    does: "pages of 1,000 events of a run of 205,000, one after another",
    setUp: storeGrown,
    async run(attacker, { run }) {
      let cursor: string | null = null;
      await attacker.pace(RATE.control, async () => {
        const from: string = cursor === null ? "" : `&events_cursor=${encodeURIComponent(cursor)}`;
        const answer = await attacker.get(`/v1/runs/${run}?events_limit=1000${from}`);
        if (answer?.status !== 200) return;
        cursor = JSON.parse(new TextDecoder().decode(answer.bytes)).events_cursor;
      }, READERS);
    },
  }),
  attack<StoredRun>({
    name: "deleting a grown run",
    finding: null,
    does: "deletions of a run of 205,000 events while batches are appended to it",
    setUp: storeGrown,
    async run(attacker, { run }) {
      await Promise.all([
        attacker.pace(20, () => attacker.send("DELETE", `/v1/runs/${run}`)),
        attacker.pace(RATE.ingest, () => attacker.post(`/v1/runs/${run}/events`, events(50))),
      ]);
    },
  }),
  attack<StoredRun>({
    name: "unread answers",
    finding: "H10",
    does: "the largest pages of events, to 300 connections that read nothing",
    setUp: storeLargePage,
    async run(attacker, { run }) {
      const head = attacker.head("GET", `/v1/runs/${run}?events_limit=1000`);
      await attacker.hold(300, async (socket) => {
        await socket.send(head);
        await new Promise((resolve) => attacker.signal.addEventListener("abort", resolve));
      });
    },
  }),
  attack<StoredRun>({
    name: "answers that are read slowly",
    finding: "H10",
    does: "the largest pages of events, to 300 connections that read 4 kB a second",
    setUp: storeLargePage,
    async run(attacker, { run }) {
      const head = attacker.head("GET", `/v1/runs/${run}?events_limit=1000`);
      await attacker.hold(300, async (socket) => {
        await socket.send(head);
        await socket.sip(4_096, 1_000);
      });
    },
  }),
  attack<StoredRun>({
    name: "largest pages",
    finding: null,
    does: "the largest pages of events, read as fast as they arrive",
    setUp: storeLargePage,
    run: (attacker, { run }) => read(attacker, `/v1/runs/${run}?events_limit=1000`),
  }),
  attack<StoredRun>({
    name: "largest pages, compressed",
    finding: null,
    does: "the same for clients that accept gzip",
    setUp: storeLargePage,
    run: (attacker, { run }) =>
      read(attacker, `/v1/runs/${run}?events_limit=1000`, { "Accept-Encoding": "gzip" }),
  }),
  attack<StoredRun & { etag: string }>({
    name: "conditional reads",
    finding: null,
    does: "the largest page of events with its ETag: all the work for an empty response",
    async setUp(attacker) {
      const { run } = await storeLargePage(attacker);
      const answer = must(await attacker.get(`/v1/runs/${run}?events_limit=1000`));
      return { run, etag: answer.headers.get("etag") ?? "" };
    },
    run: (attacker, { run, etag }) =>
      read(attacker, `/v1/runs/${run}?events_limit=1000`, { "If-None-Match": etag }),
  }),
  attack<StoredRun>({
    name: "readers that leave",
    finding: null,
    does: "requests for the largest pages on connections that close immediately",
    setUp: storeLargePage,
    async run(attacker, { run }) {
      const head = attacker.head("GET", `/v1/runs/${run}?events_limit=1000`);
      await attacker.pace(RATE.control, () => attacker.leave(head));
    },
  }),
  attack<StoredRun>({
    name: "cost of the largest run",
    finding: null,
    does: "1,000 calls per page of the cost of a run with 10,000 calls",
    setUp: storeCalls,
    run: (attacker, { run }) => read(attacker, `/v1/runs/${run}/cost?events_limit=1000`),
  }),
  attack<StoredRun>({
    name: "late events of the largest run",
    finding: null,
    does: "one late call at a time to a closed run with 10,000 calls, and calls that wait for it",
    async setUp(attacker) {
      const { run } = await storeCalls(attacker);
      const close = { status: "success", finished_at: instant() };
      must(await attacker.post(`/v1/runs/${run}/finish`, close));
      return { run };
    },
    async run(attacker, { run }) {
      const late = () => attacker.post(`/v1/runs/${run}/events`, events(1, () => aCall("a", "b")));
      await Promise.all([
        attacker.pace(RATE.ingest, late),
        attacker.clients(SLOTS, () => attacker.get(`/v1/runs/${run}?wait=final&timeout=60`)),
      ]);
    },
  }),
  attack<StoredRun>({
    name: "largest family",
    finding: null,
    does: "a run with 200 descendants in 10 generations",
    setUp: storeFamily,
    run: (attacker, { run }) => read(attacker, `/v1/runs/${run}`),
  }),
];
