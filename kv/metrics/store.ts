/**
 * The figures of the store: its commits, what waits for the worker, and its files.
 *
 * @module
 */
import { StorageUnavailable } from "../../domain/core/errors.ts";
import { counter, gauge, histogram, type MetricFamily } from "../../domain/metrics/text.ts";
import type { Memory, MemoryUse } from "../../domain/core/memory.ts";
import { PENDING_LANES } from "../../domain/runs/processing.ts";
import { inTime } from "../base/deadline.ts";
import { keys } from "../base/keys.ts";
import { type Backlog, readBacklog } from "../runs/backlog.ts";
import { eachRow, type Store } from "../store.ts";
import type { WriterMetrics } from "../writer/metrics.ts";

/**
 * Rows of each kind that are counted at most, so that a look at a long backlog takes no longer than at
 * a short one. A row of dirty runs names up to a hundred.
 */
const ROWS_MAX = 1_000;

/**
 * Reads the figures. When the store does not answer, what is known without it is told all the same:
 * that is when somebody looks.
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
      "Writes that wait for a commit or are part of one.",
      store.writer.underWay,
    ),
    gauge("runledger_store_up", "Whether the store answered this scrape.", rows === null ? 0 : 1),
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
      help: "Commits: stored, lost to another writer and tried again, or failed.",
      samples: Object.entries(commits).map(([end, value]) => ({ labels: { end }, value })),
    },
    histogram("runledger_commit_writes", "Writes in each commit.", writes),
    histogram("runledger_commit_duration_seconds", "Time of each commit.", seconds),
    counter("runledger_writes_total", "Writes in all commits.", writes.sum),
  ];
}

/** What is counted by reading. */
interface Rows {
  readonly backlog: Backlog;
  readonly deadStages: number;
  readonly openNotices: number;
}

async function readRows(store: Store): Promise<Rows> {
  const [backlog, deadStages, openNotices] = await Promise.all([
    readBacklog(store, ROWS_MAX),
    countRows(store, keys.deadStages()),
    countRows(store, keys.openNotices()),
  ]);
  return { backlog, deadStages, openNotices };
}

async function countRows(store: Store, prefix: Deno.KvKey): Promise<number> {
  let rows = 0;
  for await (const _ of eachRow(store, { prefix })) if (++rows >= ROWS_MAX) break;
  return rows;
}

function rowFamilies({ backlog, deadStages, openNotices }: Rows, nowMs: number): MetricFamily[] {
  const { runs, stages } = backlog;
  // Clocks may be set back: an age is never negative.
  const ageOf = (ms: number | null) => ms === null ? 0 : Math.max(0, nowMs - ms) / 1_000;
  const byLane = (value: (lane: typeof PENDING_LANES[number]) => number) =>
    PENDING_LANES.map((lane) => ({ labels: { lane }, value: value(lane) }));
  return [
    {
      type: "gauge",
      name: "runledger_dirty_runs",
      help: `Changes of runs that wait to be summed up, of the first ${ROWS_MAX} commits.`,
      samples: byLane((lane) => runs[lane].count),
    },
    {
      type: "gauge",
      name: "runledger_dirty_oldest_age_seconds",
      help: "How long the oldest of them waits; 0 when none does.",
      samples: byLane((lane) => ageOf(runs[lane].oldestMs)),
    },
    gauge(
      "runledger_stages_waiting",
      `Stages behind closes that wait for their turn or their next try, up to ${ROWS_MAX}.`,
      stages.count,
    ),
    gauge(
      "runledger_stages_overdue_seconds",
      "For how long the first of them has been due; 0 when none is.",
      ageOf(stages.oldestMs),
    ),
    gauge("runledger_stages_dead", `Stages that were given up, up to ${ROWS_MAX}.`, deadStages),
    gauge("runledger_notices_open", "Notices about quotas that are not told yet.", openNotices),
  ];
}

function memoryFamilies(memory: Memory): MetricFamily[] {
  const uses = memory.uses();
  const byShare = (value: (use: MemoryUse) => number) =>
    uses.map((use) => ({ labels: { share: use.share }, value: value(use) }));
  return [
    {
      type: "gauge",
      name: "runledger_memory_bytes",
      help: "Bytes that caches, queues, bodies and answers hold, by their share of the budget.",
      samples: byShare(({ bytes }) => bytes),
    },
    {
      type: "gauge",
      name: "runledger_memory_bytes_max",
      help: "The most bytes that each share may hold.",
      samples: byShare(({ bytesMax }) => bytesMax),
    },
  ];
}

function fileFamilies(store: Store): MetricFamily[] {
  const bytes = store.fileBytes();
  if (bytes === null) return [];
  return [
    gauge("runledger_kv_file_bytes", "Size of the ledger's file.", bytes.file),
    gauge("runledger_kv_wal_bytes", "Size of the log of commits beside it.", bytes.log),
  ];
}
