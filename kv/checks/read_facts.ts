/**
 * Reads the facts of a run that its head and summary do not hold.
 *
 * @module
 */
import { CallFacts, factsWithoutCalls, hasTooMany } from "../../domain/checks/calls.ts";
import {
  factsInMemory,
  isOutputCut,
  outputOf,
  scoresFact,
  usd,
} from "../../domain/checks/facts.ts";
import type { ClosedRun, MissingFacts } from "../../domain/checks/apply_checks.ts";
import {
  EVENT_BYTES_MAX,
  EVENT_FACTS,
  type FactName,
  type Facts,
} from "../../domain/checks/program.ts";
import { utf8Bytes } from "../../domain/core/raw_json.ts";
import { payloadState } from "../../domain/retention/retention.ts";
import { type RunSummary, sumsOfSummary } from "../../domain/runs/summary.ts";
import { numbersFrom, readBatches } from "../runs/batches.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import { readLineage } from "../runs/lineage.ts";
import { readScores } from "../runs/scores.ts";

/** A run with the summary that it is judged by. */
export interface RunToJudge extends SummarizedHead {
  readonly summary: RunSummary;
}

/** Facts of a run, and those that could not be had. */
export interface ReadFacts {
  readonly facts: Facts;
  readonly missing: MissingFacts;
}

/** Returns a run as its checks see it. */
export function closedRunOf({ id, head, ledger, summary }: RunToJudge): ClosedRun {
  const payload = payloadState(head.parts, ledger);
  const hasOutput = outputOf(head.parts) !== null;
  return { id, summary, payload, hasOutput, isOutputCut: isOutputCut(head.parts) };
}

/**
 * Reads the needed facts of a run. It takes no slot of the team's reads: a request calls it in one.
 *
 * Names of events are `too_many_events` beyond {@link EVENTS_READ_MAX} events or
 * {@link EVENT_BYTES_MAX} bytes, and costs of children `too_many_children` beyond those that a record
 * adds up: a part of them could pass a check that all of them fail.
 *
 * @param run its head, as one snapshot
 * @param needed names that its checks need
 */
export async function readFacts(
  run: RunToJudge,
  needed: ReadonlySet<FactName>,
): Promise<ReadFacts> {
  const { head, summary } = run;
  const facts: { -readonly [Name in keyof Facts]: Facts[Name] } = factsInMemory(run, needed);
  const missing = new Map<FactName, string>();
  if (needed.has("scores")) facts.scores = scoresFact(head.parts, await readScores(run));
  if (needed.has("cost_with_children_usd")) {
    const { totals: { cost }, isCut } = await readLineage(run);
    if (isCut) missing.set("cost_with_children_usd", "too_many_children");
    else facts.cost_with_children_usd = usd(sumsOfSummary(summary).cost + cost);
  }
  const calls = await readCalls(run, needed);
  if (calls !== null) return { facts: { ...facts, ...calls.result() }, missing };
  for (const name of EVENT_FACTS) if (needed.has(name)) missing.set(name, "too_many_events");
  return { facts, missing };
}

/** Bytes of events after which other work gets a turn: parsing them takes about a millisecond. */
const BYTES_PER_TURN = 131_072;

/** Reads the calls of a run; null if it has too many events, which the ledger may already tell. */
async function readCalls(
  run: RunToJudge,
  needed: ReadonlySet<FactName>,
): Promise<CallFacts | null> {
  const { totals, removed, batches } = run.ledger;
  const calls = new CallFacts(needed);
  if (!EVENT_FACTS.some((name) => needed.has(name))) return calls;
  if (hasTooMany(totals)) return null;
  if (factsWithoutCalls(needed, totals) !== null) return calls;
  let [bytes, bytesOfTurn] = [0, 0];
  for await (const batch of readBatches(run, numbersFrom(removed, batches))) {
    for (const event of batch.events) {
      const eventBytes = utf8Bytes(event.data);
      bytes += eventBytes;
      bytesOfTurn += eventBytes;
      if (bytes > EVENT_BYTES_MAX) return null;
      calls.add(event);
      if (bytesOfTurn < BYTES_PER_TURN) continue;
      bytesOfTurn = 0;
      await new Promise((resolve) => setTimeout(resolve));
    }
  }
  return calls;
}
