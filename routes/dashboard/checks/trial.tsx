/** The result of a dry run: counts, and runs as examples. */
import type { TrialResult } from "../../../domain/checks/store.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { InlineNotice } from "../components/elements.tsx";
import { countedText } from "../components/format.ts";
import { Table } from "../components/table.tsx";
import { countsText } from "./days.tsx";
import { judgedColumns, Outcome } from "./outcome.tsx";

/** Runs that the form's button judges. */
export const TRIED_RUNS = 50;

/** Result of a dry run, with the runs of its examples. */
export interface Tried extends TrialResult {
  readonly byId: ReadonlyMap<RunId, RunRecord>;
}

/** The place of the result, or of the reason that there is none. */
export function Trial({ tried }: { readonly tried: Tried | string | null }) {
  return (
    <div id="trial" role="status">
      {typeof tried === "string"
        ? (
          <InlineNotice kind="bad">
            <p>{tried}.</p>
          </InlineNotice>
        )
        : tried !== null && <Result {...tried} />}
    </div>
  );
}

function Result(tried: Tried) {
  const { runs, isCut, examples, byId } = tried;
  if (runs === 0) {
    return (
      <InlineNotice kind="warn">
        <p>No closed run fits the agents, kinds, statuses and features above.</p>
      </InlineNotice>
    );
  }
  const columns = judgedColumns<TrialResult["examples"][number]>(byId, [
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
  ]);
  return (
    <>
      <InlineNotice kind={tried.fail + tried.error === 0 ? "good" : "warn"}>
        <p>
          <b>{countsText(tried)}</b> of {countedText(runs, "run")}. Nothing is stored.
          {isCut && " The time for a dry run ended before all runs were judged."}
        </p>
      </InlineNotice>
      <Table label="Examples" class="fold trial" columns={columns} rows={examples} />
    </>
  );
}
