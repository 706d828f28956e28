/** The result of a dry run: counts, and runs as examples. */
import type { TrialResult } from "../../../domain/checks/store.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { InlineNotice } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";
import { type Column, Table } from "../components/table.tsx";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { countsText } from "./days.tsx";
import { JudgedRun } from "./judged_runs.tsx";
import { Outcome } from "./outcome.tsx";

/** Runs that the form's button judges. */
export const TRIED_RUNS = 50;

/** What a dry run found, with the runs of its examples. */
export interface Tried extends TrialResult {
  readonly runsOf: readonly RunRecord[];
}

interface TrialProps {
  /** What it found, or why it was refused; undefined before the first try. */
  readonly tried: Tried | Problem | undefined;
  /** True if a field shows why it was refused. */
  readonly isAtField: boolean;
}

/** What the button of the form shows in place. */
export function Trial({ tried, isAtField }: TrialProps) {
  return (
    <div id="trial" role="status">
      {tried === undefined ? null : "code" in tried
        ? (
          <InlineNotice kind="bad">
            <p>{isAtField ? "Nothing was tried: see the field above" : tried.message}.</p>
          </InlineNotice>
        )
        : <TrialOutcome {...tried} />}
    </div>
  );
}

function TrialOutcome(trial: Tried) {
  const { runs, isCut, examples, runsOf } = trial;
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
      <Table label="Examples" class="fold trial" columns={columnsFor(runsOf)} rows={examples} />
    </>
  );
}

function columnsFor(
  runs: readonly RunRecord[],
): readonly Column<TrialResult["examples"][number]>[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  return [
    {
      head: "Run",
      isName: true,
      cell: ({ run }) => (
        <>
          <JudgedRun id={run} run={byId.get(run)} />
          <small class="under">{byId.get(run)?.agent}</small>
        </>
      ),
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
}
