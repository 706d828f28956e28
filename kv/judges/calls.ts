/**
 * Calls of models by judges: slots of connections, and the outcomes that are stored.
 *
 * @module
 */
import { StorageUnavailable } from "../../domain/core/errors.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { utf8Bytes } from "../../domain/core/raw_json.ts";
import { type Hold, worstCase } from "../../domain/judges/account.ts";
import { ANSWER_PROBLEMS } from "../../domain/judges/answer.ts";
import type { Connection } from "../../domain/judges/connection.ts";
import type { CallOutcome, JobChange, JudgeJob } from "../../domain/judges/job.ts";
import type { JudgeSettings } from "../../domain/judges/judge.ts";
import { type Prompt, requestBody } from "../../domain/judges/prompt.ts";
import type { RateCards } from "../../domain/pricing/rate_card.ts";
import type { RateRow } from "../../domain/pricing/rates.ts";
import { FairSlots } from "../../runtime/fair_slots.ts";
import { FAILURE_PAUSE_MS } from "../../runtime/loop.ts";
import { newRowName, type Store } from "../store.ts";
import { type JudgeRow, readJob, writeJob } from "./rows.ts";

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

/** Dependencies of calls. */
export interface CallDeps {
  readonly store: Store;
  readonly models: ModelCalls;
  readonly slots: CallSlots;
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

/** A job, and the account of its judge. */
export type JobState = Pick<JobChange, "job" | "account">;

/** Times that the outcome of a call is stored, because its hold counts as spent otherwise. */
const STORE_ATTEMPTS = 5;

/**
 * Stores the outcome of a call. Other jobs change the account meanwhile, so it is read again.
 *
 * @param row the row of the work queue that the claim filed
 * @param plan returns null if the claim has ended
 * @returns null if the claim has ended: its hold is counted
 */
export async function storeOutcome(
  store: Store,
  row: JudgeRow,
  plan: (state: JobState) => JobChange | null,
): Promise<JobChange | null> {
  for (let attempt = 1;; attempt++) {
    try {
      const stored = await readJob(store, row);
      const { job, account } = stored;
      if (job === null || stored.due.versionstamp === null) return null;
      const after = plan({ job, account });
      if (after === null || await writeJob(store, stored, after)) return after;
    } catch (error) {
      if (!(error instanceof StorageUnavailable) || attempt >= STORE_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, FAILURE_PAUSE_MS));
    }
  }
}
