/**
 * Counts each model call of a traced run once, although several instrumentations may have told it.
 *
 * The decision is stored in the commit of the run's summary: with the prices of the batches, as new
 * prices are, so that repricing and the integrity check honor it.
 *
 * @module
 */
import type { JsonFields } from "../../domain/core/body.ts";
import { isObject } from "../../domain/core/raw_json.ts";
import type { EventId } from "../../domain/core/ids.ts";
import type { BatchPrices, Twin } from "../../domain/pricing/price.ts";
import { addEvents, NO_EVENTS } from "../../domain/runs/event_totals.ts";
import type { EventLedger } from "../../domain/runs/ledger.ts";
import type { StoredTrace } from "../../domain/runs/trace_facts.ts";
import { type StoredSpan, twinsOf } from "../../domain/otlp/twins.ts";
import { encodePrices, type StoredBatch } from "../base/codec.ts";
import { encodeLedger } from "../base/codec_sums.ts";
import { keys } from "../base/keys.ts";
import { blobWrite } from "../store.ts";
import { type KvSet, pendingName } from "../writer/group.ts";
import { numbersFrom, readBatches, withFacts } from "./batches.ts";
import type { SummarizedHead } from "./heads.ts";

/** Maximum events of a run whose twins are decided: all of them are read for each decision. */
const EVENTS_MAX = 5_000;

/** A run that counts each call once, and the rows that store it. */
export interface CountedOnce {
  readonly run: SummarizedHead;
  /** Rows to store under the check of its ledger. */
  readonly sets: readonly KvSet[];
}

/** Decides which calls of a run are repeated; null if that changes nothing. */
export async function countOnce(run: SummarizedHead): Promise<CountedOnce | null> {
  const { team, id, ledger } = run;
  const twins = await twinsOfRun(run);
  if (twins === null) {
    const { isUndecided, repeatedCalls = 0 } = ledger.trace ?? {};
    return isUndecided ? null : changed(run, { isUndecided: true, repeatedCalls });
  }
  const sets: KvSet[] = [];
  let totals = NO_EVENTS;
  let batch = 0;
  for await (const stored of readBatches(run, numbersFrom(0, ledger.batches))) {
    const prices = withTwins(stored, twins);
    totals = addEvents(totals, stored.events.map(withFacts), prices ?? stored.prices);
    if (prices !== null) {
      const key = keys.prices(team, id, batch);
      sets.push(...blobWrite(team, id, key, encodePrices(prices)).sets);
    }
    batch++;
  }
  if (sets.length === 0) return null;
  const repeatedCalls = twins.size;
  return changed(run, { totals, repricings: ledger.repricings + 1, repeatedCalls }, sets);
}

/** Returns the repeated calls of a run; null if it is too large to decide. */
async function twinsOfRun(run: SummarizedHead): Promise<ReadonlyMap<string, string> | null> {
  const { ledger } = run;
  // What retention has removed cannot be compared.
  if (ledger.removed > 0 || ledger.totals.events > EVENTS_MAX) return null;
  const spans: StoredSpan[] = [];
  for await (const { events } of readBatches(run, numbersFrom(0, ledger.batches))) {
    for (const { id, type, ts, data } of events) {
      const parsed: unknown = JSON.parse(data);
      const fields = isObject(parsed) ? parsed : {};
      spans.push({ id, type, ts, data: comparedFields(fields, type) });
    }
  }
  return twinsOf(spans);
}

/** Returns the fields that the decision needs, without content. */
function comparedFields(data: JsonFields, type: string): JsonFields {
  const { span } = data;
  if (type !== "llm_call") return { span };
  const { response_id, model, input_tokens, output_tokens, latency_ms } = data;
  const { cached_input_tokens, cache_creation_input_tokens } = data;
  return {
    ...{ span, response_id, model, input_tokens, output_tokens, latency_ms },
    ...{ cached_input_tokens, cache_creation_input_tokens },
  };
}

/** Returns the prices of a batch with its twins; null if they are the stored ones. */
function withTwins(
  { events, prices }: StoredBatch,
  twins: ReadonlyMap<string, string>,
): BatchPrices | null {
  const marks = events.flatMap(({ id }, i): Twin[] => {
    const countedBy = twins.get(id);
    return countedBy === undefined ? [] : [[i, countedBy as EventId]];
  });
  if (String(marks) === String(prices.twins ?? [])) return null;
  const { twins: _, ...own } = prices;
  return marks.length === 0 ? own : { ...own, twins: marks };
}

/** Returns the run with a changed ledger, and its rows. */
function changed(
  run: SummarizedHead,
  { isUndecided, repeatedCalls = 0, ...change }:
    & Partial<EventLedger>
    & Pick<StoredTrace, "isUndecided" | "repeatedCalls">,
  sets: readonly KvSet[] = [],
): CountedOnce {
  const { store, team, id, head } = run;
  const { isUndecided: _, repeatedCalls: __, ...trace } = run.ledger.trace ?? {};
  const decision = {
    ...isUndecided ? { isUndecided } : {},
    ...repeatedCalls > 0 ? { repeatedCalls } : {},
  };
  const ledger: EventLedger = { ...run.ledger, ...change, trace: { ...trace, ...decision } };
  // The head in memory has the former totals.
  store.heads.forget(pendingName(team, id));
  const repricings = head.repricings + ledger.repricings - run.ledger.repricings;
  return {
    run: { ...run, ledger, head: { ...head, totals: ledger.totals, ages: ledger, repricings } },
    sets: [...sets, { key: keys.ledger(team, id), value: encodeLedger(ledger) }],
  };
}
