/** What the team's checks say of a run: failures with their reasons, the others as counts. */
import type { CheckResult, CheckStatus } from "../../../domain/runs/check_result.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { checkPath } from "../checks/paths.ts";
import { Outcome, SeverityTag } from "../checks/outcome.tsx";
import { formatCount } from "../components/format.ts";
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

/** Shows the results of checks; nothing if none applies. */
export function CheckResults({ run, checkIds }: CheckResultsProps) {
  const { checks } = run;
  const isPending = awaitsChecks(run);
  if (checks.length === 0 && !isPending) return null;
  const of = (status: CheckStatus) => checks.filter((result) => result.status === status);
  const bad = [...of("fail"), ...of("error")];
  return (
    <section class="panel verdicts" aria-labelledby="checks-title">
      <header>
        <h2 id="checks-title">Checks</h2>
        {isPending && (
          <span class="st st-run">
            <Icon name="run" />
            <span>{checks.length === 0 ? "running" : "running again"}</span>
          </span>
        )}
      </header>
      {bad.length > 0 && <ul>{bad.map((result) => <Bad result={result} checkIds={checkIds} />)}
      </ul>}
      <Folded id="checks-skipped" status="skipped" results={of("skipped")} checkIds={checkIds} />
      <Folded id="checks-passed" status="pass" results={of("pass")} checkIds={checkIds} />
    </section>
  );
}

interface ResultProps {
  readonly result: CheckResult;
  readonly checkIds: ReadonlySet<string>;
}

/** The name of the check, as a link if it still exists. */
function CheckName({ result: { check, id }, checkIds }: ResultProps) {
  return checkIds.has(id) ? <a href={checkPath(check)}>{check}</a> : (
    <span>
      <b>{check}</b> <span class="tag">deleted</span>
    </span>
  );
}

/** A check that failed, or could not be decided. */
function Bad({ result, checkIds }: ResultProps) {
  const { status, severity, message } = result;
  return (
    <li>
      <Outcome of={status} isIcon />
      <div>
        <CheckName result={result} checkIds={checkIds} />{" "}
        {status === "fail" && severity !== "fail" && <SeverityTag of={severity} />}
        {status === "error" && <span class="tag warn">not decided</span>}{" "}
        <span class={status === "fail" && severity === "fail" ? "why" : "why warn"}>
          {message ?? <i>The message was removed by age</i>}
        </span>
        <Details result={result} />
      </div>
    </li>
  );
}

/** What was judged: the check may have changed since. */
function Details({ result: { got, version } }: Pick<ResultProps, "result">) {
  return (
    <small>
      {got !== null && got !== "" && (
        <>
          got <code>{got}</code>,{" "}
        </>
      )}
      version {version}
    </small>
  );
}

interface FoldedProps {
  readonly id: string;
  readonly status: CheckStatus;
  readonly results: readonly CheckResult[];
  readonly checkIds: ReadonlySet<string>;
}

/** Results without news, as a count that opens. */
function Folded({ id, status, results, checkIds }: FoldedProps) {
  if (results.length === 0) return null;
  return (
    <details id={id}>
      <summary>
        {formatCount(results.length)} <Outcome of={status} />
      </summary>
      <ul>
        {results.map((result) => (
          <li>
            <div>
              <CheckName result={result} checkIds={checkIds} /> {result.message}
              <Details result={result} />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}
