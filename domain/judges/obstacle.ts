/**
 * Decides what keeps a judge from calling its model.
 *
 * @module
 */
import { picodollars } from "../pricing/money.ts";
import type { RateRow } from "../pricing/rates.ts";
import { capShareOf, type JudgeAccount, worstCase } from "./account.ts";
import { isBlockedJudge } from "./judge_job.ts";
import type { Judge } from "./judge.ts";

/** Something that keeps a judge from calling its model. */
export interface Obstacle {
  /** Runs wait for a connection and for the end of a block; because of the other kinds they are skipped. */
  readonly kind: "disabled" | "no_connection" | "unpriced" | "blocked" | "too_dear" | "budget";
  /** The cause of a block, such as `http_401`; of any other obstacle its kind. */
  readonly reason: string;
  /** Since when, unix milliseconds; null if that is not stored. */
  readonly since: number | null;
}

/** Everything that a judge needs in addition to its settings. */
export interface JudgeMeans {
  /** Its account on the current day. */
  readonly account: JudgeAccount;
  /** Price of its model; undefined for none. */
  readonly rate: RateRow | undefined;
  /** True if the service has its connection. */
  readonly hasConnection: boolean;
}

/** Returns the first thing that keeps a judge from calling its model; null if it calls. */
export function obstacleOf(
  judge: Pick<Judge, "id" | "version" | "settings">,
  { account, rate, hasConnection }: JudgeMeans,
): Obstacle | null {
  const { enabled, dailyUsd, maxOutputTokens } = judge.settings;
  const { blocked, mark } = account;
  const because = (kind: Obstacle["kind"], since: number | null = null) => ({
    kind,
    reason: kind,
    since,
  });
  if (!enabled) return because("disabled");
  if (!hasConnection) return because("no_connection");
  if (rate === undefined) return because("unpriced");
  if (blocked !== null && isBlockedJudge(judge, blocked)) {
    return { kind: "blocked", reason: blocked.reason, since: blocked.since };
  }
  // No request has fewer bytes.
  if (worstCase(rate, 0, maxOutputTokens) > picodollars(dailyUsd)) return because("too_dear");
  const isUsedUp = capShareOf(account, dailyUsd) === "used_up";
  return isUsedUp ? because("budget", mark?.since ?? null) : null;
}
