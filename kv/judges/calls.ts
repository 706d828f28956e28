/**
 * Calls of models by judges: slots of connections, and the outcomes that are stored.
 *
 * @module
 */
import { usd } from "../../domain/checks/facts.ts";
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { utf8Bytes } from "../../domain/core/raw_json.ts";
import { type Hold, worstCase } from "../../domain/judges/account.ts";
import { ANSWER_PROBLEMS } from "../../domain/judges/answer.ts";
import type { Connection } from "../../domain/judges/connection.ts";
import type { afterCall, CallOutcome, JobChange, JudgeJob } from "../../domain/judges/judge_job.ts";
import type { JudgeSettings } from "../../domain/judges/judge.ts";
import { type Prompt, requestBody } from "../../domain/judges/prompt.ts";
import type { Picodollars } from "../../domain/pricing/money.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import { FairSlots } from "../../runtime/fair_slots.ts";
import { FAILURE_PAUSE_MS } from "../../runtime/loop.ts";
import { LabeledCounter } from "../../runtime/metrics.ts";
import { newRowName, type Store } from "../store.ts";
import { type JudgeRow, readJob, writeJob } from "./judge_rows.ts";

/** Calls models; see `outbound/models.ts`. */
export interface ModelCalls {
  readonly connections: readonly Connection[];
  call(
    connection: Connection,
    body: string,
    settings: Pick<JudgeSettings, "result" | "passAt">,
    signal: AbortSignal,
  ): Promise<CallOutcome>;
}

/** Outcomes of calls; `no_connection`: a job waited for a connection that this process lacks. */
const OUTCOMES = ["answered", "unusable", "refused", "lost", "unsent", "no_connection"] as const;

/** Counters of calls. */
export type CallMetrics = ReturnType<typeof createCallMetrics>;

/** Creates the counters of calls. */
export function createCallMetrics() {
  const calls = new LabeledCounter(
    "runledger_judge_calls_total",
    "Calls of models by judges, and jobs that waited for a connection, by outcome.",
    OUTCOMES.map((outcome) => ({ outcome })),
  );
  const cost = new LabeledCounter(
    "runledger_judge_cost_usd_total",
    "Cost of the calls of judges in US dollars, with worst cases where no answer came.",
    [{}],
  );
  return {
    calls,
    cost,
    /** Counts a call and its cost. */
    count(outcome: CallOutcome, amount: Picodollars): void {
      const isUnusable = outcome.kind === "answered" && typeof outcome.answer.result === "string";
      calls.count({ outcome: isUnusable ? "unusable" : outcome.kind });
      cost.count({}, usd(amount));
    },
  };
}

/** Dependencies of calls. */
export interface CallDeps {
  readonly store: Store;
  readonly models: ModelCalls;
  readonly slots: CallSlots;
  readonly metrics: CallMetrics;
  readonly cards: RateCards;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Calls of one connection at once (decision 100). Only trials wait for a slot. */
const CALLS = { all: 4, team: 4, waiting: 200, teamWaiting: 20 };

/** Slots of each connection. */
export type CallSlots = ReadonlyMap<string, FairSlots>;

/** Creates the slots that all calls of a process share. */
export function createCallSlots({ connections }: Pick<ModelCalls, "connections">): CallSlots {
  return new Map(connections.map(({ name }) => [name, new FairSlots(CALLS)]));
}

/** A call that may be claimed. */
export interface PlannedCall extends Pick<Hold, "name" | "amount"> {
  /** Price of the model. */
  readonly price: RateRow;
  /** Makes the call. Never rejects. */
  readonly send: (signal: AbortSignal) => Promise<CallOutcome>;
}

/** Plans the next call of a job; null without the connection or without a price. */
export async function planCall(
  { models, cards, now }: CallDeps,
  team: TeamId,
  settings: JudgeSettings,
  { form, problem }: Pick<JudgeJob, "form" | "problem">,
  prompt: Prompt,
): Promise<PlannedCall | null> {
  const { connection: name, model, maxOutputTokens } = settings;
  const connection = models.connections.find((each) => each.name === name);
  const card = await cards.card({ id: team });
  const price = card.find(name, model, now())?.row;
  if (connection === undefined || price === undefined) return null;
  const complaint = problem === null ? null : ANSWER_PROBLEMS[problem];
  const body = requestBody(prompt, form, connection.outputLimit, complaint);
  return {
    name: newRowName(),
    amount: worstCase(price, utf8Bytes(body), maxOutputTokens),
    price,
    send: (signal) => models.call(connection, body, settings, signal),
  };
}

/** Times that the outcome of a call is stored, because its hold counts as spent otherwise. */
const STORE_ATTEMPTS = 5;

/**
 * Stores the outcome of a call. Other jobs change the account meanwhile, so it is read again.
 *
 * @param row the row of the work queue that the claim filed
 * @param end the rules of a job, or of a trial
 * @returns null if the claim has ended: its hold is counted
 */
export async function storeOutcome(
  { store, metrics, now }: CallDeps,
  row: JudgeRow,
  { name, price }: PlannedCall,
  outcome: CallOutcome,
  end: typeof afterCall,
): Promise<JobChange | null> {
  for (let attempt = 1;; attempt++) {
    try {
      const stored = await readJob(store, row);
      const { job, account } = stored;
      if (job === null || stored.due.versionstamp === null) return null;
      const after = end({ job, account }, name, outcome, price, now());
      if (after !== null && !await writeJob(store, stored, after)) continue;
      if (after !== null) metrics.count(outcome, after.job.cost - job.cost);
      return after;
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || attempt >= STORE_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, FAILURE_PAUSE_MS));
    }
  }
}
