/** Checks in words. */
import type { CheckSettings } from "../../../domain/checks/check.ts";
import type { CheckSeverity } from "../../../domain/runs/check_result.ts";
import { FINISH_STATUSES } from "../../../domain/runs/run.ts";
import { RUN_KINDS } from "../../../domain/runs/flags.ts";
import { listed } from "../components/format.ts";

/** What a failure of each severity means. */
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
