/**
 * Reads what a judge asks about a run: the request, or the reason why there is none.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { scoresFact } from "../../domain/checks/facts.ts";
import type { FactName } from "../../domain/checks/program.ts";
import { JUDGE_AGENT_PREFIX } from "../../domain/agents/agents.ts";
import { ended, type JudgeJob, newJob, type SkipReason } from "../../domain/judges/judge_job.ts";
import type { Judge } from "../../domain/judges/judge.ts";
import {
  canonicalBody,
  fieldsOfRubric,
  type Prompt,
  type PromptField,
  promptOf,
  readRubric,
} from "../../domain/judges/prompt.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { errorOf } from "../../domain/runs/run.ts";
import { closeArrivalOf } from "../../domain/runs/summary.ts";
import { closedRunOf, readFacts, type RunToJudge } from "../checks/read_facts.ts";
import { numbersFrom, readBatches } from "../runs/batches.ts";
import { isStored, type ReadHead, readHead } from "../runs/heads.ts";
import { readScores } from "../runs/scores.ts";
import { withTexts } from "../runs/texts.ts";
import type { Store } from "../store.ts";
import type { JobName } from "./judge_rows.ts";

/** Source of the scores of judges. */
export const JUDGE_SOURCE = "judge";

/** Run that a job judges. */
export interface Subject {
  /** A job without a try; it has ended if the run is skipped. */
  readonly fresh: JudgeJob;
  /** The judge; null if it is deleted. */
  readonly judge: Judge | null;
  /** The request; null if the run is skipped. */
  readonly prompt: Prompt | null;
}

/**
 * Reads what a judge asks about a run.
 *
 * @param judge the judge; null if it is deleted
 * @returns `gone` for a removed run; null for one that is open, or whose cost is not final yet: the
 * projection files the job again
 */
export async function readSubject(
  store: Store,
  { team, run: id, slug }: Pick<JobName, "run" | "slug"> & { readonly team: TeamId },
  judge: Judge | null,
  nowMs: number,
): Promise<Subject | "gone" | null> {
  const head = await withTexts(await readHead({ store, team, id }));
  if (!isStored(head.head)) return "gone";
  if (!isClosed(head)) return null;
  const { revision } = head.summary;
  const closedAt = closeArrivalOf(head.summary);
  const { id: judgeId, version } = judge ?? { id: null, version: 0 };
  const jobOf = (digest: string) =>
    newJob(
      { id: judgeId ?? "", version, digest },
      { revision, closedAt, model: judge?.settings.model ?? "" },
    );
  const skipped = (reason: SkipReason): Subject => {
    const job = ended(jobOf(""), { state: "skipped", reason }, nowMs);
    return { fresh: { ...job, isTold: true }, judge, prompt: null };
  };
  if (judge === null) return skipped("deleted");
  const { settings } = judge;
  if (!settings.enabled) return skipped("disabled");
  const rubric = readRubric(settings.rubric);
  if (!rubric.ok) throw new Error(`The rubric of judge ${slug} cannot be read: ${rubric.reason}`);
  const fields = fieldsOfRubric(rubric.value);
  const { payload, hasOutput } = closedRunOf(head);
  if (payload !== "whole") return skipped("payload_removed");
  if (fields.has("output") && !hasOutput) return skipped("no_output");
  const values = await readValues(head, fields);
  if (values === null) return skipped("too_many_events");
  const prompt = promptOf(settings, values);
  const digest = createHash("sha256").update(canonicalBody(prompt)).digest("hex");
  return { fresh: jobOf(digest), judge, prompt };
}

function isClosed(run: ReadHead): run is ReadHead & RunToJudge {
  const { head, summary } = run;
  return head.parts.closing !== null && summary !== null && summary.seen.closing;
}

/** Fields that checks have under the same names. */
const FACTS = [
  "goal",
  "output",
  "status",
  "metadata",
  "tools",
] as const satisfies readonly (PromptField & FactName)[];

/** Reads the values of fields; null for too many events. */
async function readValues(run: ReadHead & RunToJudge, fields: ReadonlySet<PromptField>) {
  const needed = FACTS.filter((name) => fields.has(name));
  const { facts, missing } = await readFacts(run, new Set(needed));
  if (missing.size > 0) return null;
  const { parts } = run.head;
  return {
    ...facts,
    ...fields.has("error") ? { error: errorOf(parts) } : {},
    ...fields.has("scores") ? { scores: scoresFact(parts, await ownScores(run)) } : {},
    ...fields.has("events") ? { events: await firstEvents(run) } : {},
  };
}

/** Returns the added scores without those of judges, which would change the text that they judge. */
async function ownScores(run: ReadHead) {
  const scores = await readScores(run);
  return scores.filter(({ name, source }) =>
    source !== JUDGE_SOURCE || !name.startsWith(JUDGE_AGENT_PREFIX)
  );
}

/** Bounds of the events that are read: more do not fit a prompt. */
const EVENTS = { max: 500, charsMax: 200_000 } as const;

async function firstEvents(run: ReadHead): Promise<unknown[]> {
  const { removed, batches } = run.ledger;
  const events: unknown[] = [];
  let chars = 0;
  for await (const batch of readBatches(run, numbersFrom(removed, batches))) {
    for (const { type, data } of batch.events) {
      chars += data.length;
      if (events.length >= EVENTS.max || chars > EVENTS.charsMax) return events;
      events.push({ type, data: JSON.parse(data) });
    }
  }
  return events;
}
