/**
 * Metrics of the store: its commits, the worker's backlog, and its files.
 *
 * @module
 */
import { SEVERITIES, type Severity } from "../../domain/channels/message.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { counter, gauge, histogram, type MetricFamily } from "../../runtime/metrics.ts";
import type { Memory, MemoryUse } from "../../runtime/memory.ts";
import {
  isDead,
  PENDING_LANES,
  type PendingLane,
  type RunFailure,
} from "../../domain/runs/stages.ts";
import { inTime } from "../base/retry.ts";
import { keyParts, keys } from "../base/keys.ts";
import { LaneRows } from "../work/store.ts";
import { readBacklog } from "../runs/pending_queue.ts";
import { eachRow, type Store } from "../store.ts";
import type { WriterMetrics } from "../writer/group.ts";

/**
 * Maximum rows counted of each kind, so that a scrape takes no longer with a long backlog. A row of
 * pending runs names up to a hundred.
 */
const ROWS_MAX = 1_000;

/**
 * Collects the metrics. If the store does not answer, returns the metrics that need no read, which
 * matter most then.
 *
 * @param nowMs unix milliseconds, for ages
 */
export async function storeMetrics(store: Store, nowMs: number): Promise<MetricFamily[]> {
  const rows = await inTime(readRows(store), store.deadlines).catch((error: unknown) => {
    if (error instanceof StorageUnavailable) return null;
    throw error;
  });
  return [
    ...writerFamilies(store.writer.metrics),
    gauge(
      "runledger_writer_writes_waiting",
      "Writes that are queued or being committed.",
      store.writer.pendingWrites,
    ),
    gauge(
      "runledger_store_up",
      "1 if the store answered this scrape, otherwise 0.",
      rows === null ? 0 : 1,
    ),
    ...(rows === null ? [] : rowFamilies(rows, nowMs)),
    ...fileFamilies(store),
    ...memoryFamilies(store.memory),
  ];
}

function writerFamilies({ commits, writes, seconds }: WriterMetrics): MetricFamily[] {
  return [
    {
      type: "counter",
      name: "runledger_commits_total",
      help: "Commits by result: stored, retried after a conflict, or failed.",
      samples: Object.entries(commits).map(([end, value]) => ({ labels: { end }, value })),
    },
    histogram("runledger_commit_writes", "Writes in each commit.", writes),
    histogram("runledger_commit_duration_seconds", "Duration of each commit.", seconds),
    counter("runledger_writes_total", "Writes in all commits.", writes.sum),
  ];
}

/** Reads the numbers that are in the store. */
async function readRows(store: Store) {
  const [backlog, dueMs, deadStages, sends, openIncidents, waiting] = await Promise.all([
    readBacklog(store, ROWS_MAX),
    new LaneRows(store, "settled").nextMs(),
    countDead(store),
    readSends(store),
    countOpenIncidents(store),
    countRows(store, keys.deliveryQueues()),
  ]);
  return { backlog, dueMs, deadStages, ...sends, openIncidents, waiting };
}

type Rows = Awaited<ReturnType<typeof readRows>>;

async function countRows(store: Store, prefix: Deno.KvKey): Promise<number> {
  let rows = 0;
  for await (const _ of eachRow(store, { prefix })) if (++rows >= ROWS_MAX) break;
  return rows;
}

/** Counts the notices that wait, and reads the time of the channel that is due first. */
async function readSends(store: Store) {
  let [openNotices, rows] = [0, 0];
  let deliveryMs: number | null = null;
  for await (const { key } of eachRow(store, { prefix: keys.work("send") })) {
    const { at, kind } = keyParts.work(key);
    if (kind === "notice") openNotices++;
    else if (kind !== "channel_report") deliveryMs ??= at;
    if (++rows >= ROWS_MAX) break;
  }
  return { openNotices, deliveryMs };
}

/** Counts the work on runs that is given up. */
async function countDead(store: Store): Promise<number> {
  let [dead, rows] = [0, 0];
  for await (const { value } of eachRow<RunFailure>(store, { prefix: keys.failures() })) {
    if (isDead(value)) dead++;
    if (++rows >= ROWS_MAX) break;
  }
  return dead;
}

/** Counts the incidents of all teams that are not resolved, by severity. */
async function countOpenIncidents(store: Store): Promise<Map<Severity, number>> {
  const counts = new Map<Severity, number>(SEVERITIES.map((severity) => [severity, 0]));
  let rows = 0;
  for await (const { value } of eachRow<Severity>(store, { prefix: keys.allOpenIncidents() })) {
    counts.set(value, (counts.get(value) ?? 0) + 1);
    if (++rows >= ROWS_MAX) break;
  }
  return counts;
}

function rowFamilies(rows: Rows, nowMs: number): MetricFamily[] {
  const { backlog: { runs, stages }, dueMs, deadStages, openNotices } = rows;
  const { openIncidents, waiting, deliveryMs } = rows;
  // Clocks may be set back, but an age is never negative.
  const ageOf = (ms: number | null) => ms === null ? 0 : Math.max(0, nowMs - ms) / 1_000;
  const byLane = (value: (lane: PendingLane) => number) =>
    PENDING_LANES.map((lane) => ({ labels: { lane }, value: value(lane) }));
  return [
    gauge(
      "runledger_dirty_runs",
      `Changes of runs that wait for projection, of the first ${ROWS_MAX} commits.`,
      byLane((lane) => runs[lane].count),
    ),
    gauge(
      "runledger_dirty_oldest_age_seconds",
      "Age of the oldest waiting change; 0 when none waits.",
      byLane((lane) => ageOf(runs[lane].oldestMs)),
    ),
    gauge(
      "runledger_stages_waiting",
      `Stages after finish that wait for their turn or a retry, up to ${ROWS_MAX}.`,
      stages.count,
    ),
    gauge(
      "runledger_stages_overdue_seconds",
      "Time since the oldest of them was due; 0 when none is.",
      ageOf(stages.oldestMs),
    ),
    gauge(
      "runledger_stages_dead",
      `Stages that failed permanently, of the first ${ROWS_MAX} that failed.`,
      deadStages,
    ),
    gauge(
      "runledger_clock_lag_seconds",
      "Time since the oldest deadline of a run or monitor that is not handled yet; 0 without one.",
      ageOf(dueMs),
    ),
    gauge("runledger_notices_open", "Quota notices that are not sent yet.", openNotices),
    gauge(
      "runledger_incidents_open",
      `Incidents that are not resolved, of the first ${ROWS_MAX}.`,
      Array.from(openIncidents, ([severity, value]) => ({ labels: { severity }, value })),
    ),
    gauge(
      "runledger_deliveries_waiting",
      `Messages to channels that wait for a try, up to ${ROWS_MAX}; joined ones count once.`,
      waiting,
    ),
    gauge(
      "runledger_delivery_oldest_seconds",
      "Time since the channel that waits longest was due; 0 when none is.",
      ageOf(deliveryMs),
    ),
  ];
}

function memoryFamilies(memory: Memory): MetricFamily[] {
  const uses = memory.uses();
  const byShare = (value: (use: MemoryUse) => number) =>
    uses.map((use) => ({ labels: { share: use.share }, value: value(use) }));
  return [
    gauge(
      "runledger_memory_bytes",
      "Bytes held by caches, queues, bodies and responses, by their share of the budget.",
      byShare(({ bytes }) => bytes),
    ),
    gauge(
      "runledger_memory_bytes_max",
      "Maximum bytes of each share.",
      byShare(({ bytesMax }) => bytesMax),
    ),
  ];
}

function fileFamilies(store: Store): MetricFamily[] {
  const bytes = store.fileBytes();
  if (bytes === null) return [];
  return [
    gauge("runledger_kv_file_bytes", "Size of the database file.", bytes.file),
    gauge("runledger_kv_wal_bytes", "Size of its write-ahead log.", bytes.log),
  ];
}
