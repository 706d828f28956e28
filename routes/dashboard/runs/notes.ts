/** What is odd about a listed run, in words. */
import type { CostFlag } from "../../../domain/run/run_cost.ts";
import type { RunFlag } from "../../../domain/run/record.ts";
import type { RunListRow, RunTrait } from "../../../domain/run/run_list.ts";
import { countText } from "../parts/format.ts";

/** Something odd. */
export interface Note {
  /** `bad` for what went wrong, `warn` for what makes figures less sure than they look. */
  readonly kind: "bad" | "warn" | "soft";
  readonly text: string;
}

const FLAGS: Readonly<Record<RunFlag | CostFlag, string | null>> = {
  // The same as the trait `orphan`.
  no_opening: null,
  negative_duration: "ends before it starts",
  cached_exceeds_input: "more cached than input tokens",
  batch_rate_missing: "batch calls at full rates",
  no_tokens: "calls without token counts",
  truncated: "payload cut to its limit",
  unreadable_figures: "unreadable figures",
};

const TRAITS: Readonly<Record<RunTrait, Note | null>> = {
  // Told with the names of the models.
  unpriced: null,
  failed_check: { kind: "bad", text: "failed a check" },
  late: { kind: "soft", text: "events after its end" },
  orphan: { kind: "warn", text: "no opening yet" },
};

/** Everything odd about a run. */
export function notesOf({ usage: { errors }, cost, flags, has }: RunListRow): readonly Note[] {
  const [unpriced, ...others] = cost.unpricedModels;
  return [
    ...errors === 0 ? [] : [
      { kind: "bad", text: `${countText(errors)} ${errors === 1 ? "error" : "errors"}` } as const,
    ],
    ...unpriced === undefined ? [] : [
      {
        kind: "warn",
        text: `no price: ${unpriced}${others.length === 0 ? "" : ` and ${others.length} more`}`,
      } as const,
    ],
    ...has.flatMap((trait) => TRAITS[trait] ?? []),
    ...[...flags, ...cost.flags].flatMap((flag) => {
      const text = FLAGS[flag];
      return text === null ? [] : [{ kind: "warn", text } as const];
    }),
  ];
}
