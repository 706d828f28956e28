/** Notes about a listed run. */
import type { CostFlag } from "../../../domain/runs/cost.ts";
import type { RunFlag } from "../../../domain/runs/flags.ts";
import type { RunListRow, RunTrait } from "../../../domain/runs/list.ts";
import { countedText } from "../components/format.ts";

export interface RunNote {
  /** `bad` for failures, `warn` for reasons to doubt a metric. */
  readonly kind: "bad" | "warn" | "soft";
  readonly text: string;
}

const FLAG_NOTES: Readonly<Record<RunFlag | CostFlag, string | null>> = {
  batch_rate_missing: "no batch rate",
  dropped_fields: "fields not stored",
  future_start: "starts in the future",
  negative_duration: "ends before it starts",
  // Same as the trait `orphan`.
  no_opening: null,
  no_tokens: "a call without token counts",
  truncated: "values cut to their limit",
  unreadable_figures: "unreadable figures",
  cached_exceeds_input: "more cached than input tokens",
};

const TRAIT_NOTES: Readonly<Record<RunTrait, RunNote | null>> = {
  // Shown with the names of the models.
  unpriced: null,
  failed_check: { kind: "bad", text: "failed a check" },
  late: { kind: "soft", text: "events after its end" },
  orphan: { kind: "warn", text: "no opening yet" },
};

/** Lists the notes about a run. */
export function notesOf({ usage: { errors }, cost, flags, has }: RunListRow): readonly RunNote[] {
  const [unpriced, ...others] = cost.unpricedModels;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const notes: readonly (RunNote | null)[] = [
    errors === 0 ? null : { kind: "bad", text: countedText(errors, "error") },
    unpriced === undefined ? null : { kind: "warn", text: `no price: ${unpriced}${more}` },
    ...has.map((trait) => TRAIT_NOTES[trait]),
    ...[...flags, ...cost.flags].flatMap((flag) => FLAG_NOTES[flag] ?? [])
      .map((text) => ({ kind: "warn" as const, text })),
  ];
  return notes.filter((note) => note !== null);
}
