/**
 * Values in exports of 0.1.0 whose members have other names since: outcomes of groups and monitors; lists
 * of jobs.
 *
 * @module
 */
import type { EarlierKind, RowKind } from "../../domain/core/export_format.ts";
import type { RunId } from "../../domain/core/ids.ts";
import type { Monitor } from "../../domain/monitors/row.ts";
import { runOutcome, withMissed } from "../../domain/monitors/streak.ts";
import type { Outcome } from "../../domain/outcomes/window.ts";

/** Returns the value of a row as this version stores it. */
export function currentValue(kind: RowKind | EarlierKind, value: unknown): unknown {
  // The row of a team's jobs did not list those in progress.
  if ((kind === "deletion" || kind === "reprice") && value === true) return [];
  const earlier = value as EarlierOutcomes;
  if (kind === "alert" && earlier.outcomes !== undefined) {
    const { base, kept } = earlier.outcomes;
    const last = base.last && currentOutcome(base.last);
    return { ...earlier, outcomes: { base: { ...base, last }, kept: kept.map(currentOutcome) } };
  }
  if (kind !== "monitor" || earlier.signals === undefined) return value;
  const { base: { name, isDown, fails, oks, ...base }, signals, missedAt, ...rest } = earlier;
  const kept = signals.map(({ at, run, outcome }) => runOutcome(KINDS[outcome], run, at));
  const key = name.replace(/ (ok|fail)$/, (_, outcome: "ok" | "fail") => ` ${KINDS[outcome]}`);
  const streak = { ...base, isFiring: isDown, bads: fails, goods: oks, key };
  return withMissed(
    { ...rest, outcomes: { base: streak, kept } } as unknown as Monitor,
    missedAt ?? null,
  );
}

/** Kinds of outcomes by their names in earlier exports. */
const KINDS = { ok: "good", fail: "bad", overrun: "overrun" } as const;

/** An outcome that an earlier export may name good or bad by a flag. */
type EarlierOutcome = Partial<Outcome> & { readonly isBad?: boolean };

/** Members of groups and monitors in earlier exports. */
interface EarlierOutcomes {
  readonly outcomes?: {
    readonly base: { readonly last: EarlierOutcome | null };
    readonly kept: readonly EarlierOutcome[];
  };
  readonly base: {
    readonly name: string;
    readonly isDown: boolean;
    readonly fails: number;
    readonly oks: number;
  };
  readonly signals?: readonly {
    readonly at: number;
    readonly run: RunId;
    readonly outcome: keyof typeof KINDS;
  }[];
  readonly missedAt?: number | null;
}

function currentOutcome({ isBad, ...outcome }: EarlierOutcome): EarlierOutcome {
  return isBad === undefined ? outcome : { ...outcome, kind: isBad ? "bad" : "good" };
}
