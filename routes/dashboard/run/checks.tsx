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

/** Shows the results of checks; nothing if none applies. */
export function CheckResults({ run }: { readonly run: RunRecord }) {
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
      {bad.length > 0 && <ul>{bad.map((result) => <Bad result={result} />)}</ul>}
      <Folded id="checks-skipped" status="skipped" results={of("skipped")} />
      <Folded id="checks-passed" status="pass" results={of("pass")} />
    </section>
  );
}

interface ResultProps {
  readonly result: CheckResult;
}

/** A check that failed, or could not be decided. */
function Bad({ result }: ResultProps) {
  const { check, status, severity, message } = result;
  return (
    <li>
      <Outcome of={status} isIcon />
      <div>
        <a href={checkPath(check)}>{check}</a>{" "}
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
function Details({ result: { got, version } }: ResultProps) {
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
}

/** Results without news, as a count that opens. */
function Folded({ id, status, results }: FoldedProps) {
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
              <a href={checkPath(result.check)}>{result.check}</a> {result.message}
              <Details result={result} />
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}
