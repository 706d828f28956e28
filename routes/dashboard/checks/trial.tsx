/** The result of a dry run: counts, and runs as examples. */
import type { TrialResult } from "../../../domain/checks/store.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { InlineNotice } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";
import { type Column, Table } from "../components/table.tsx";
import { runPath } from "../layout/paths.ts";
import { countsText } from "./days.tsx";
import { Outcome } from "./outcome.tsx";

/** Runs that the form's button judges. */
export const TRIED_RUNS = 50;

/** Characters of a run's id: its end, because ids created in succession start alike. */
const ID_CHARS = 8;

interface TrialProps {
  /** What it found, or why it was refused; undefined before the first try. */
  readonly tried: TrialResult | Problem | undefined;
}

/** What the button of the form shows in place. */
export function Trial({ tried }: TrialProps) {
  return (
    <div id="trial" role="status">
      {tried === undefined ? null : "code" in tried
        ? (
          <InlineNotice kind="bad">
            <p>{tried.message}.</p>
          </InlineNotice>
        )
        : <TrialOutcome {...tried} />}
    </div>
  );
}

function TrialOutcome(trial: TrialResult) {
  const { runs, isCut, examples } = trial;
  if (runs === 0) {
    return (
      <InlineNotice kind="warn">
        <p>No closed run fits the agents, kinds, statuses and features above.</p>
      </InlineNotice>
    );
  }
  return (
    <>
      <InlineNotice kind={trial.fail + trial.error === 0 ? "good" : "warn"}>
        <p>
          <b>{countsText(trial)}</b> of {countedText(runs, "run")}. Nothing is stored.
          {isCut && " The time for a dry run ended before all runs were judged."}
        </p>
      </InlineNotice>
      <Table label="Examples" class="fold trial" columns={COLUMNS} rows={examples} />
    </>
  );
}

const COLUMNS: readonly Column<TrialResult["examples"][number]>[] = [
  {
    head: "Run",
    isName: true,
    cell: ({ run }) => <a class="row" href={runPath(run)} title={run}>…{run.slice(-ID_CHARS)}</a>,
  },
  { head: "Outcome", cell: ({ status }) => <Outcome of={status} /> },
  {
    head: "Why",
    class: "whole",
    cell: ({ message, got }) => (
      <>
        {message}
        {got !== null && got !== "" && (
          <span class="under">
            got <code>{got}</code>
          </span>
        )}
      </>
    ),
  },
];
