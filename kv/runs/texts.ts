/**
 * Reads the texts of runs: the parts of many, and goal, output and error of traces, which are in the
 * events of their spans.
 *
 * @module
 */
import type { EventId, RunId } from "../../domain/core/ids.ts";
import type { RawJson } from "../../domain/core/raw_json.ts";
import { eventIdOf } from "../../domain/otlp/event_id.ts";
import type { RunHead } from "../../domain/runs/cost.ts";
import type { RunParts, Score } from "../../domain/runs/run.ts";
import type { AddedScore } from "../../domain/runs/scores.ts";
import { withTrace } from "../../domain/runs/trace_facts.ts";
import { withTraceTexts } from "../../domain/runs/trace_texts.ts";
import { keys } from "../base/keys.ts";
import { listRows } from "../store.ts";
import { BatchIndex, readBatches } from "./batches.ts";
import {
  hasSpanTexts,
  type HeadRows,
  ledgerOf,
  readParts,
  type RunWithLedger,
  type TeamRef,
} from "./heads.ts";

/** Returns a run whose parts have the texts of its trace. */
export async function withTexts<Run extends RunWithLedger & { readonly head: RunHead }>(
  run: Run,
): Promise<Run> {
  if (!hasSpanTexts(run)) return run;
  return { ...run, head: { ...run.head, parts: await addTexts(run, run.head.parts) } };
}

async function addTexts(run: RunWithLedger, parts: RunParts): Promise<RunParts> {
  const { begin, end, status } = run.ledger.trace ?? {};
  const region = run.id.slice("run_".length, "run_eu".length) as "eu" | "us";
  const spans = [
    begin && { startMs: begin.at, spanId: begin.id },
    ...[end, status].map((span) => span && { startMs: span.startMs, spanId: span.id }),
  ].map((span) => span && { ts: Math.floor(span.startMs), id: eventIdOf(region, span) });
  const payloads = await readPayloads(run, spans.filter((span) => span !== undefined));
  const [ofBegin, ofEnd, ofStatus] = spans.map((span) => span && payloads.get(span.id));
  return withTraceTexts(parts, {
    begin: ofBegin ?? null,
    end: ofEnd ?? null,
    status: ofStatus ?? null,
  });
}

/** Maximum batches that are read for the texts of a run; batches rarely overlap in time. */
const BATCHES_MAX = 32;

/** Reads the payloads of events by their ids and instants. */
async function readPayloads(
  run: RunWithLedger,
  wanted: readonly { readonly id: EventId; readonly ts: number }[],
): Promise<ReadonlyMap<EventId, RawJson>> {
  const index = await BatchIndex.read(run);
  const payloads = new Map<EventId, RawJson>();
  const read = new Set<number>();
  for (const { id, ts } of wanted) {
    for await (const { batch, tsMin } of index.byStart({ ts, batch: 0, index: 0 })) {
      if (payloads.has(id) || tsMin > ts || read.size >= BATCHES_MAX) break;
      if (read.has(batch)) continue;
      read.add(batch);
      for await (const { events } of readBatches(run, [batch])) {
        for (const event of events) {
          if (wanted.some((one) => one.id === event.id)) payloads.set(event.id, event.data);
        }
      }
    }
  }
  return payloads;
}

/** Parts of runs to read, besides those that calls sent. */
export interface PartsWanted {
  /** True to read the scores that were added to them. */
  readonly scores: boolean;
  /** True to read the texts of traces. */
  readonly texts: boolean;
}

/**
 * Decodes the parts of runs one after the other, so that one run's output at a time takes memory.
 *
 * @param rows rows of the runs
 */
export async function readManyParts(
  at: TeamRef,
  rows: ReadonlyMap<RunId, HeadRows>,
  wanted: PartsWanted,
  visit: (id: RunId, parts: RunParts, addedScores: readonly Score[]) => void,
): Promise<void> {
  const { store, team } = at;
  for (const [id, row] of rows) {
    const [opening, closing] = [row.get("opening")?.value, row.get("closing")?.value];
    const run = { ...at, id, ledger: ledgerOf(row.get("ledger")?.value) };
    if (opening === undefined && closing === undefined && run.ledger.trace === undefined) continue;
    const scores = wanted.scores
      ? await listRows<AddedScore>(store, { prefix: keys.scores(team, id) })
      : [];
    const parts = withTrace(await readParts(run, opening, closing), run.ledger);
    visit(
      id,
      wanted.texts && hasSpanTexts(run) ? await addTexts(run, parts) : parts,
      scores.map(({ value: { name, value } }) => [name, value]),
    );
  }
}
