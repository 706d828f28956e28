/** The results of a run's checks as pills, failed ones first: each opens to its reason. */
import type { CheckResult, CheckStatus } from "../../../domain/runs/check_result.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { checkPath } from "../layout/paths.ts";
import { SeverityTag } from "../alerts/labels.tsx";
import { Outcome } from "../checks/outcome.tsx";
import { Sign } from "../components/elements.tsx";

/** Returns whether the checks of a closed run are still to be done. */
export function awaitsChecks({ cost, processing }: Pick<RunRecord, "cost" | "processing">) {
  const state = processing.find(({ stage }) => stage === "checks")?.state;
  // Before the cost is final, it is not known whether a check applies.
  return cost.state === "final" && (state === "pending" || state === "retrying");
}

/** The order of the pills. */
const ORDER: readonly CheckStatus[] = ["fail", "error", "skipped", "pass"];

interface CheckResultsProps {
  readonly run: RunRecord;
  /** Identifiers of the checks that still exist: results outlive their checks. */
  readonly checkIds: ReadonlySet<string>;
}

/** Shows the results of checks in one line; nothing if none applies. */
export function CheckResults({ run, checkIds }: CheckResultsProps) {
  const isPending = awaitsChecks(run);
  const results = ORDER.flatMap((status) => run.checks.filter((check) => check.status === status));
  if (results.length === 0 && !isPending) return null;
  return (
    <section class="verdicts" aria-labelledby="checks-title">
      <h2 id="checks-title">Checks</h2>
      {isPending && (
        <Sign icon="run" name="st-run">{results.length === 0 ? "running" : "running again"}</Sign>
      )}
      {results.map((result) => <Pill {...result} isKept={checkIds.has(result.id)} />)}
    </section>
  );
}

type PillProps = CheckResult & { readonly isKept: boolean };

/** A result, which opens to its reason: the check may have changed since that version. */
function Pill({ check, id, status, severity, got, message, version, isKept }: PillProps) {
  const isFailed = status === "fail";
  const isRemoved = message === null && (isFailed || status === "error");
  return (
    <details id={`check-${id}`} name="check" class={isFailed && severity === "fail" ? "bad" : ""}>
      <summary>
        <Outcome of={status} isIcon /> {check}
      </summary>
      <div>
        {message !== null && <p>{message}</p>}
        {isRemoved && <p class="quiet">The message was removed by age</p>}
        {got && <code>got {got}</code>}
        <p class="quiet">
          <Outcome of={status} /> {isFailed && <SeverityTag of={severity} />} version {version},
          {" "}
          {isKept ? <a href={checkPath(check)}>Open the check</a> : "deleted since"}
        </p>
      </div>
    </details>
  );
}
