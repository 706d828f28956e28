/** Metrics of an agent, for tables and tiles. */
import type { AgentActivity } from "../../../domain/agents/activity.ts";
import type { Measures } from "../../../domain/runs/contribution.ts";
import { costPerSuccess } from "../../../domain/spend/spend.ts";
import { runPath } from "../layout/paths.ts";
import { Ago, Money, Status } from "../components/elements.tsx";
import { countedText, formatCount, percentText } from "../components/format.ts";

interface ActivityProps {
  readonly activity: AgentActivity | null;
}

/** The share of ended runs that succeeded. */
export function SuccessRate({ activity }: ActivityProps) {
  if (activity === null) return <>–</>;
  const { runs, running, succeeded } = activity;
  const ended = runs - running;
  const exact = `${formatCount(succeeded)} of ${countedText(ended, "run")} that ended`;
  return <span title={exact}>{percentText(succeeded, ended)}</span>;
}

/** Total cost divided by the number of successful runs. */
export function CostOfSuccess({ measures }: { readonly measures: Measures }) {
  const cost = costPerSuccess(measures);
  if (cost !== null) return <Money of={cost} />;
  return measures.cost === 0n ? <>–</> : (
    <span title="Nothing succeeded">
      <Money of={measures.cost} /> for none
    </span>
  );
}

/** The status of the last run, as a link to it. */
export function LastRunOf({ activity, now }: ActivityProps & { readonly now: number }) {
  const last = activity?.lastRun ?? null;
  return last === null ? <>–</> : (
    <span class="last-run">
      <a href={runPath(last.id)}>
        <Status of={last.status} />
      </a>{" "}
      <span class="soft">
        <Ago at={last.startedAt} now={now} />
      </span>
    </span>
  );
}
