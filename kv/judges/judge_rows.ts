/**
 * Rows of judges: an account each, and a job for each run that one judges.
 *
 * @module
 */
import { kindName } from "../../domain/alerts/signal.ts";
import {
  accountAt,
  EMPTY_ACCOUNT,
  type JudgeAccount,
  newsAt,
} from "../../domain/judges/account.ts";
import { type JudgeJob, withoutReasoning } from "../../domain/judges/judge_job.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
import type { Work } from "../../domain/work/work.ts";
import { keys } from "../base/keys.ts";
import type { SummarizedHead } from "../runs/heads.ts";
import { getAll, getMany, type Store } from "../store.ts";
import type { KvSet } from "../writer/group.ts";
import { workKey, workSet } from "../work/store.ts";

/** Name of a job, as a row of the work queue has it. */
export interface JobName {
  readonly run: RunId;
  /** Slug of the judge. */
  readonly slug: string;
  /** Unique name of a trial; null for the job that gives the run its result. */
  readonly trial: string | null;
}

/** Returns the row of the work queue at which a judge handles a run. */
export function judgeWork(team: TeamId, job: JobName, at: number): KvSet {
  return workSet(judgeRow(team, job, at));
}

/** A row of the work queue. */
export type JudgeRow = Omit<Work, "failures">;

/** Returns the row of the work queue of a job. */
export function judgeRow(team: TeamId, job: JobName, at: number): JudgeRow {
  return { at, kind: "judge", team, name: `${job.run} ${judgeAndTrial(job)}` };
}

function judgeAndTrial({ slug, trial }: JobName): string {
  return trial === null ? slug : `${slug} ${trial}`;
}

/** Reads the name of a row of the work queue. */
function jobNameOf({ name }: Pick<Work, "name">): JobName {
  const [run = "", slug = "", trial = null] = name.split(" ");
  return { run: run as RunId, slug, trial };
}

/** A job as it is stored, with the rows that protect its next step. */
export interface StoredJob extends JobName {
  readonly team: TeamId;
  /** The row of the work queue that caused the step. */
  readonly due: Deno.KvEntryMaybe<unknown>;
  readonly jobRow: Deno.KvEntryMaybe<unknown>;
  readonly accountRow: Deno.KvEntryMaybe<unknown>;
  readonly job: JudgeJob | null;
  readonly account: JudgeAccount;
}

/** Reads a job, its account and a row of the work queue, from one snapshot. */
export async function readJob(store: Store, row: JudgeRow): Promise<StoredJob> {
  const { team } = row;
  const name = jobNameOf(row);
  const [due, jobRow, accountRow] = await getMany(store, [
    workKey(row),
    keys.judgeJob(team, name.run, judgeAndTrial(name)),
    keys.judgeAccount(team, name.slug),
  ]) as [Deno.KvEntryMaybe<unknown>, Deno.KvEntryMaybe<unknown>, Deno.KvEntryMaybe<unknown>];
  const job = jobRow.value as JudgeJob | null;
  const account = accountRow.value as JudgeAccount | null ?? EMPTY_ACCOUNT;
  return { ...name, team, due, jobRow, accountRow, job, account };
}

/** A step of a job, ready to commit. */
export interface JobWrite {
  /** The job after it; null to remove it, absent to leave it. */
  readonly job?: JudgeJob | null;
  /** The account after it; absent to leave it. */
  readonly account?: JudgeAccount;
  /** Time of the next step, unix milliseconds; null for none. */
  readonly nextAt: number | null;
}

/** Commits a step; returns false if anything that it was planned from has changed since. */
export async function writeJob(
  store: Store,
  stored: StoredJob,
  { job, account, nextAt }: JobWrite,
): Promise<boolean> {
  const { team, due, jobRow, accountRow } = stored;
  const next = nextAt === null ? [] : [judgeWork(team, stored, nextAt)];
  const news = account === undefined ? null : newsAt(stored.account, account);
  const isSame = next.some(({ key }) => key.join() === due.key.join());
  const version = await store.writer.commit({
    team,
    checks: [due, jobRow, accountRow],
    sets: [
      ...next,
      ...job === undefined || job === null ? [] : [{ key: jobRow.key, value: job }],
      ...news === null
        ? []
        : [workSet({ at: news, kind: "rule", team, name: kindName("service") })],
      ...account === undefined ? [] : [{ key: accountRow.key, value: account }],
    ],
    deletes: [...isSame ? [] : [due.key], ...job === null ? [jobRow.key] : []],
  });
  return version !== null;
}

/** Returns the rows that leave the jobs of a run without the models' words. */
export async function jobsWithoutReasoning(
  { store, team, id, summary }: Pick<SummarizedHead, "store" | "team" | "id" | "summary">,
) {
  const slugs = summary?.judges ?? [];
  const rows = await getAll(store, slugs.map((slug) => keys.judgeJob(team, id, slug)));
  const jobs = rows.filter(({ value }) => value !== null);
  return {
    // A job that goes on has no words yet, and changes.
    checks: jobs.map(({ key, versionstamp }) => ({ key, versionstamp })),
    sets: jobs.map(({ key, value }) => ({ key, value: withoutReasoning(value as JudgeJob) })),
  };
}

/** Reads the accounts of judges as they are at an instant. */
export async function readAccounts(
  store: Store,
  team: TeamId,
  slugs: readonly string[],
  nowMs: number,
): Promise<readonly JudgeAccount[]> {
  const rows = await getAll(store, slugs.map((slug) => keys.judgeAccount(team, slug)));
  return rows.map(({ value }) => accountAt(value as JudgeAccount | null ?? EMPTY_ACCOUNT, nowMs));
}
