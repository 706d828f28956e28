/** Attacks on the change feed, live streams and exports. */
import { CHANGES_PER_PAGE, OUTPUT_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, jsonOf, must, RATE } from "../attacker.ts";
import { gzip, instant } from "../values.ts";
import { storeRuns } from "./lists.ts";

/** Open streams and waiting calls that a team may have. */
const SLOTS = 50;

/** More exports in parallel than a team may have; some are refused. */
const EXPORTS = 8;

const PAGE = `/v1/changes?limit=${CHANGES_PER_PAGE.max}`;

/** Stores 1,000 heartbeats with the largest output: 2.4 kB each on the wire. */
async function storeOutputs(attacker: Attacker): Promise<void> {
  const output = { text: "o".repeat(OUTPUT_BYTES_MAX - 20) };
  const body = gzip({ agent: "a", output });
  await attacker.times(1_000, async () => {
    for (;;) {
      const answer = await attacker.post("/v1/heartbeats", body);
      // The service processes only a few large bodies at a time.
      if (answer?.status !== 503) return void must(answer);
    }
  });
}

/** Returns the cursor after the first change. */
async function firstCursor(attacker: Attacker): Promise<string> {
  return jsonOf(await attacker.get("/v1/changes?limit=1")).next_cursor;
}

/** Changes runs all the time. */
function change(attacker: Attacker): Promise<void> {
  return attacker.pace(RATE.ingest, (n) => {
    const status = n % 2 === 0 ? "start" : "ok";
    return attacker.post("/v1/heartbeats", { agent: "agent-0", status, started_at: instant() });
  });
}

/** Attacks on the feed and on streams. */
export const feed: readonly Attack[] = [
  attack({
    name: "changes",
    finding: "C3",
    does: "pages of 1,000 changes of runs with outputs of 512 KiB, 20 in parallel",
    setUp: storeOutputs,
    run: (attacker) => attacker.pace(RATE.control, () => attacker.get(PAGE), 20),
  }),
  attack<{ cursor: string }>({
    name: "live streams from the beginning",
    finding: "C3",
    does: "50 live streams that are 1,000 changes of such runs behind, reopened repeatedly",
    async setUp(attacker) {
      await storeOutputs(attacker);
      return { cursor: await firstCursor(attacker) };
    },
    async run(attacker, { cursor }) {
      const head = attacker.head("GET", `/v1/live?after=${encodeURIComponent(cursor)}`);
      await attacker.hold(SLOTS, async (socket) => {
        await socket.send(head);
        await attacker.answered(socket);
        // The backlog arrives immediately: read a little of it, then reopen the stream.
        await socket.take(262_144);
      });
    },
  }),
  attack({
    name: "waiting for changes",
    finding: null,
    does: "50 calls that wait for the next change of the feed, while runs change all the time",
    setUp: (attacker) => storeRuns(attacker, 2_000),
    async run(attacker) {
      let cursor = await firstCursor(attacker);
      await Promise.all([
        change(attacker),
        attacker.clients(SLOTS, async () => {
          const path = `${PAGE}&wait=30&after=${encodeURIComponent(cursor)}`;
          const answer = await attacker.get(path);
          if (answer?.status === 200) cursor = jsonOf(answer).next_cursor;
        }),
      ]);
    },
  }),
  attack({
    name: "unread streams",
    finding: null,
    does: "50 live streams that read nothing, while runs change all the time",
    async run(attacker) {
      const head = attacker.head("GET", "/v1/live");
      await Promise.all([
        change(attacker),
        attacker.hold(SLOTS, async (socket) => {
          await socket.send(head);
          await attacker.answered(socket);
          await new Promise((resolve) => attacker.signal.addEventListener("abort", resolve));
        }),
      ]);
    },
  }),
  attack({
    name: "streams that are read slowly",
    finding: null,
    does: "50 live streams that read 256 bytes a second, while runs change all the time",
    async run(attacker) {
      const head = attacker.head("GET", "/v1/live");
      await Promise.all([
        change(attacker),
        attacker.hold(SLOTS, async (socket) => {
          await socket.send(head);
          await attacker.answered(socket);
          await socket.sip(256, 1_000);
        }),
      ]);
    },
  }),
  attack({
    name: "exports",
    finding: null,
    does: "exports of 12,000 runs as NDJSON and CSV, 4 in parallel and more that are refused",
    setUp: (attacker) => storeRuns(attacker),
    run: (attacker) =>
      attacker.clients(
        EXPORTS,
        (n) => attacker.get(n % 2 === 0 ? "/v1/runs.ndjson" : "/v1/runs.csv"),
      ),
  }),
  attack({
    name: "unread exports",
    finding: null,
    does: "exports of 12,000 runs on connections that read nothing",
    setUp: (attacker) => storeRuns(attacker),
    async run(attacker) {
      const head = attacker.head("GET", "/v1/runs.ndjson");
      await attacker.hold(EXPORTS, async (socket) => {
        await socket.send(head);
        await attacker.answered(socket);
        await new Promise((resolve) => attacker.signal.addEventListener("abort", resolve));
      });
    },
  }),
  attack({
    name: "exports that are read slowly",
    finding: null,
    does: "exports of 12,000 runs on connections that read 4 kB a second",
    setUp: (attacker) => storeRuns(attacker),
    async run(attacker) {
      const head = attacker.head("GET", "/v1/runs.csv");
      await attacker.hold(EXPORTS, async (socket) => {
        await socket.send(head);
        await attacker.answered(socket);
        await socket.sip(4_096, 1_000);
      });
    },
  }),
  attack({
    name: "exports of nothing",
    finding: null,
    does: "exports from 1970 that scan all runs and match none, and windows of an instant",
    setUp: (attacker) => storeRuns(attacker),
    run(attacker) {
      const paths = [
        "/v1/runs.ndjson?from=1970-01-01&to=9999-12-31&q=zzzz",
        "/v1/runs.csv?customer_id=(unattributed)&min_cost_usd=999999&from=1970-01-01",
        `/v1/runs.ndjson?from=${instant(1)}&to=${instant()}`,
      ];
      return attacker.pace(
        RATE.control,
        (n) => attacker.get(paths[n % paths.length] ?? ""),
        EXPORTS,
      );
    },
  }),
  attack({
    name: "heads of exports",
    finding: null,
    does: "HEAD of exports: started and never read",
    setUp: (attacker) => storeRuns(attacker),
    run: (attacker) =>
      attacker.pace(
        RATE.control,
        (n) => attacker.send("HEAD", n % 2 === 0 ? "/v1/runs.ndjson" : "/v1/runs.csv"),
      ),
  }),
];
