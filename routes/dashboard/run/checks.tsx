/** The results of a run's checks as pills, failed ones first: each opens to its reason. */
import type { CheckResult, CheckStatus } from "../../../domain/runs/check_result.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { checkPath } from "../checks/paths.ts";
import { Outcome, SeverityTag } from "../checks/outcome.tsx";
import { Icon } from "../components/icons.tsx";

/** Returns whether the checks of a closed run are still to be done. */
export function awaitsChecks(
  { cost, processing }: Pick<RunRecord, "cost" | "processing">,
): boolean {
  // Before the cost is final, it is not known whether a check applies.
  if (cost.state !== "final") return false;
  const state = processing.find(({ stage }) => stage === "checks")?.state;
  return state === "pending" || state === "retrying";
}

interface CheckResultsProps {
  readonly run: RunRecord;
  /** Identifiers of the checks that still exist: results outlive their checks. */
  readonly checkIds: ReadonlySet<string>;
}

/** The order of the pills. */
const ORDER: readonly CheckStatus[] = ["fail", "error", "skipped", "pass"];

/** Shows the results of checks in one line; nothing if none applies. */
export function CheckResults({ run, checkIds }: CheckResultsProps) {
  const { checks } = run;
  const isPending = awaitsChecks(run);
  if (checks.length === 0 && !isPending) return null;
  const ordered = ORDER.flatMap((status) => checks.filter((result) => result.status === status));
  return (
    <section class="verdicts" aria-labelledby="checks-title">
      <h2 id="checks-title">Checks</h2>
      {isPending && (
        <span class="st st-run">
          <Icon name="run" />
          <span>{checks.length === 0 ? "running" : "running again"}</span>
        </span>
      )}
      {ordered.map((result) => <Pill result={result} isKept={checkIds.has(result.id)} />)}
    </section>
  );
}

interface PillProps {
  readonly result: CheckResult;
  /** True if the check still exists. */
  readonly isKept: boolean;
}

/** A result: the check may have changed since its version was applied. */
function Pill({ result, isKept }: PillProps) {
  const { check, id, status, severity, got, version } = result;
  const isFailed = status === "fail";
  const message = result.message ??
    (isFailed || status === "error" ? <i>The message was removed by age</i> : null);
  return (
    <details id={`check-${id}`} name="check" class={isFailed && severity === "fail" ? "bad" : ""}>
      <summary>
        <Outcome of={status} isIcon /> {check}
      </summary>
      <div>
        {message !== null && <p>{message}</p>}
        {got !== null && got !== "" && (
          <p>
            got <code>{got}</code>
          </p>
        )}
        <p class="quiet">
          <Outcome of={status} /> {isFailed && <SeverityTag of={severity} />} version {version},
          {" "}
          {isKept ? <a href={checkPath(check)}>Open the check</a> : <span>deleted since</span>}
        </p>
      </div>
    </details>
  );
}
