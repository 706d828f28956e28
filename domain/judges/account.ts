/**
 * The account of a judge: what it has spent and may have to spend on a UTC day (decision 98).
 *
 * Before a call its worst case is held; afterwards the hold becomes the cost. Whatever gets lost in
 * between, a hold without an answer counts as spent: held and spent together never pass the cap.
 *
 * @module
 */
import { dayOf } from "../core/time.ts";
import { type Picodollars, picodollars } from "../pricing/money.ts";
import { priceOf } from "../pricing/price.ts";
import type { CallTokens, RateRow } from "../pricing/rates.ts";

/** Worst case of a call that is under way, or whose answer was lost. */
export interface Hold {
  /** Unique name of the try. */
  readonly name: string;
  /** UTC day that it counts on. */
  readonly day: string;
  /** Picodollars. */
  readonly amount: Picodollars;
  /** Cap of the day at the call, picodollars. */
  readonly cap: Picodollars;
}

/** A judge that makes no calls but one in {@link PROBE_MS}. */
export interface Blocked {
  /** Cause, such as `http_401`; `limit_ignored` for a server that gives more tokens than asked for. */
  readonly reason: string;
  /** Version of the judge that is blocked; another one is not. */
  readonly version: string;
  /** Since when, unix milliseconds. */
  readonly since: number;
  /** Earliest time of the next call, unix milliseconds. */
  readonly probeAt: number;
}

/** Share of a day's cap that is used, which rules of the kind `service` report. */
export interface CapMark {
  /** `near`: 80 % are spent. `used_up`: a call was not made, because it might have passed the cap. */
  readonly share: "near" | "used_up";
  /** Picodollars: under a higher cap the mark means nothing. */
  readonly cap: Picodollars;
  /** Since when, unix milliseconds. */
  readonly since: number;
}

/** The account. */
export interface JudgeAccount {
  /** Latest UTC day of a call. It never moves back, so a clock that was set back finds no new cap. */
  readonly day: string;
  /** Picodollars spent on that day. */
  readonly spent: Picodollars;
  /** Calls without an answer, also of earlier days. */
  readonly holds: readonly Hold[];
  /** Mark that was reached on that day; null for none. */
  readonly mark: CapMark | null;
  /** Null unless the judge is blocked. */
  readonly blocked: Blocked | null;
}

/** The account of a judge that has made no call. */
export const EMPTY_ACCOUNT: JudgeAccount = {
  day: "",
  spent: 0n,
  holds: [],
  mark: null,
  blocked: null,
};

/** Time after which a call without an answer counts as spent, milliseconds. */
export const HOLD_MS = 600_000;

/** Time between the calls of a blocked judge, milliseconds. */
export const PROBE_MS = 600_000;

/** Input tokens that a server may add to those of a request. */
const TEMPLATE_TOKENS = 1_000;

/** Returns the most that a call can cost: a token for each byte, at the dearest rates of the row. */
export function worstCase(
  row: RateRow,
  requestBytes: number,
  outputTokensMax: number,
): Picodollars {
  const all = [row.rates, ...row.tiers.map(({ rates }) => rates)];
  const input = all.map(({ input, cachedInput, cacheWrite }) =>
    Math.max(input, cachedInput ?? 0, cacheWrite ?? 0)
  );
  const output = all.map(({ output }) => output);
  return BigInt(requestBytes + TEMPLATE_TOKENS) * BigInt(Math.max(...input)) +
    BigInt(outputTokensMax) * BigInt(Math.max(...output));
}

/** Returns the cost of an answer. */
export function costOfTokens(row: RateRow, tokens: CallTokens): Picodollars {
  return BigInt(priceOf(row, tokens));
}

/** Returns the account on the day of an instant, or on the day of its latest call if that is later. */
export function accountAt(account: JudgeAccount, nowMs: number): JudgeAccount {
  const day = dayOf(nowMs);
  return day <= account.day ? account : { ...account, day, spent: 0n, mark: null };
}

/** Returns what is held on the day of an account, in picodollars. */
export function heldAmount({ day, holds }: JudgeAccount): Picodollars {
  return holds.reduce((sum, hold) => hold.day === day ? sum + hold.amount : sum, 0n);
}

/** Reasons for which nothing is held. */
export type NoHold = "budget" | "too_dear";

/**
 * Holds the worst case of a call.
 *
 * @param dailyUsd cap of the day
 * @returns the account and the hold; a reason if the cap has no room for it
 */
export function hold(
  account: JudgeAccount,
  call: Pick<Hold, "name" | "amount">,
  dailyUsd: number,
  nowMs: number,
): { readonly account: JudgeAccount; readonly hold: Hold } | NoHold {
  const current = accountAt(account, nowMs);
  const cap = picodollars(dailyUsd);
  if (call.amount > cap) return "too_dear";
  if (current.spent + heldAmount(current) + call.amount > cap) return "budget";
  const added = { name: call.name, day: current.day, amount: call.amount, cap };
  return { account: { ...current, holds: [...current.holds, added] }, hold: added };
}

/** Replaces a hold by the cost of its call; the same account if the hold has ended. */
export function endHold(
  account: JudgeAccount,
  name: string,
  cost: Picodollars,
  nowMs: number,
): JudgeAccount {
  const ended = account.holds.find((hold) => hold.name === name);
  if (ended === undefined) return account;
  const holds = account.holds.filter((hold) => hold !== ended);
  // The costs of an earlier day count on that day.
  if (ended.day !== account.day) return { ...account, holds };
  const after = { ...account, holds, spent: account.spent + cost };
  const isNear = ended.cap > 0n && after.spent * 5n >= ended.cap * 4n;
  return isNear ? withMark(after, { share: "near", cap: ended.cap, since: nowMs }) : after;
}

/** Returns an account after a call that its cap had no room for. */
export function withoutRoom(account: JudgeAccount, dailyUsd: number, nowMs: number): JudgeAccount {
  const mark = { share: "used_up", cap: picodollars(dailyUsd), since: nowMs } as const;
  return withMark(accountAt(account, nowMs), mark);
}

/** Returns an account with a mark, unless one that it has says as much. A trial has a cap of its own. */
function withMark(account: JudgeAccount, mark: CapMark): JudgeAccount {
  const { mark: known } = account;
  const isKnown = known !== null && known.cap >= mark.cap &&
    (known.share === mark.share || known.share === "used_up");
  return isKnown ? account : { ...account, mark };
}

/** Returns the share of a judge's cap that is used; null for less than a mark. */
export function capShareOf(
  { mark }: Pick<JudgeAccount, "mark">,
  dailyUsd: number,
): CapMark["share"] | null {
  return mark !== null && picodollars(dailyUsd) <= mark.cap ? mark.share : null;
}

/** Returns why a version of a judge may not call now; null if it may. */
export function blockedNow(
  { blocked }: JudgeAccount,
  version: string,
  nowMs: number,
): Blocked | null {
  if (blocked === null || blocked.version !== version) return null;
  // A later probe was planned before the clock was set back.
  const isDue = blocked.probeAt <= nowMs || blocked.probeAt > nowMs + PROBE_MS;
  return isDue ? null : blocked;
}

/** Returns since when a step has blocked a judge, or marked its account; null for neither. */
export function newsAt(before: JudgeAccount, { blocked, mark }: JudgeAccount): number | null {
  if (blocked !== null && blocked.since !== before.blocked?.since) return blocked.since;
  return mark !== null && mark !== before.mark ? mark.since : null;
}

/** Blocks a judge, or postpones its next probe. */
export function block(
  account: JudgeAccount,
  reason: string,
  version: string,
  nowMs: number,
): JudgeAccount {
  const { blocked } = account;
  const isSame = blocked?.version === version && blocked.reason === reason;
  const since = isSame ? blocked.since : nowMs;
  return { ...account, blocked: { reason, version, since, probeAt: nowMs + PROBE_MS } };
}
