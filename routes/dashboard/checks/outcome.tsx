/** Checks in words: what they judge, their outcomes, and the runs that they judged. */
import { Sign } from "../components/elements.tsx";
import type { CheckSettings } from "../../../domain/checks/check.ts";
import type { CheckFailure, CheckStats } from "../../../domain/checks/store.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { CheckSeverity, CheckStatus } from "../../../domain/runs/check_result.ts";
import { RUN_KINDS } from "../../../domain/runs/flags.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { listed } from "../components/format.ts";
import type { IconName } from "../components/icons.tsx";
import type { Column } from "../components/table.tsx";
import { runPath } from "../layout/paths.ts";
import { shortId, titleOf } from "../run/title.ts";

/** The word, the icon and the class of each outcome. */
export const OUTCOMES: Readonly<Record<CheckStatus, readonly [string, IconName, string]>> = {
  fail: ["failed", "bad", "st-bad"],
  error: ["not decided", "warn", "st-warn"],
  skipped: ["skipped", "off", "st-off"],
  pass: ["passed", "ok", "st-ok"],
};

/** The icon of an outcome; with `isIcon` its word is for screen readers only. */
export function Outcome({ of, isIcon = false }: {
  readonly of: CheckStatus;
  readonly isIcon?: boolean;
}) {
  const [word, icon, name] = OUTCOMES[of];
  return <Sign icon={icon} name={name} isIcon={isIcon}>{word}</Sign>;
}

/** Consequences of a failure, by severity. */
export const SEVERITY_WORDS: Readonly<Record<CheckSeverity, string>> = {
  info: "shown on the run",
  warn: "a rule can open an incident",
  fail: "also marks the run as one that failed a check",
};

/** Maximum names of a list in words. */
const NAMED = 3;

/** Returns the runs that a check judges, such as "runs of support-triage that ended as success". */
export function appliesWords(settings: CheckSettings): string {
  const { agents, kinds, statuses, features, sample } = settings;
  const noun = kinds.length === RUN_KINDS.length ? "runs" : kinds.map((of) => `${of}s`).join(", ");
  const ofAll = agents.length === 0 || agents.includes("*");
  const parts = [
    sample === 1 ? null : `${Number((sample * 100).toPrecision(4))}% of`,
    ofAll ? `all ${noun}` : `${noun} of ${listed(agents, NAMED)}`,
    features.length === 0 ? null : `for ${listed(features, NAMED)}`,
    statuses.length === FINISH_STATUSES.length ? null : `that ended as ${statuses.join(" or ")}`,
  ];
  return parts.filter((part) => part !== null).join(" ");
}

/** Returns columns of runs that a check judged: their goals and agents, and those of the list. */
export function judgedColumns<Row extends { readonly run: RunId }>(
  runs: ReadonlyMap<RunId, RunRecord>,
  own: readonly Column<Row>[],
): readonly Column<Row>[] {
  return [
    {
      head: "Run",
      isName: true,
      cell: ({ run: id }) => {
        const run = runs.get(id);
        return run === undefined
          ? <span class="soft" title={id}>{shortId(id)}, deleted</span>
          : <a class="row" href={runPath(id)}>{titleOf({ run })}</a>;
      },
    },
    { head: "Agent", cell: ({ run }) => runs.get(run)?.agent ?? "–" },
    ...own,
  ];
}

type Ends = ReadonlyMap<RunId, Pick<RunRecord, "finishedAt">>;

/** Returns when a failed run ended. Statistics only have the arrival, which is later for imports. */
export function endOf({ run, at }: CheckFailure, runs: Ends): number {
  return runs.get(run)?.finishedAt ?? at;
}

/** Returns the end of the first run since which a check fails; null if it does not. */
export function failingFrom({ failures, failingSince }: CheckStats, runs: Ends): number | null {
  const first = failures.find(({ at }) => at === failingSince);
  return first === undefined ? failingSince : endOf(first, runs);
}
