/** Runs named by their goals, in short tables: of an agent, an incident, a check. */
import type { RunId } from "../../../domain/core/ids.ts";
import { assemble, type RunRecord } from "../../../domain/runs/record.ts";
import type { Reader } from "../layout/page.tsx";
import { runPath } from "../layout/paths.ts";
import { At, Money } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { RunState, Why } from "../components/run_state.tsx";
import { type Column, column, numberColumn, Table } from "../components/table.tsx";
import { failedPathOf, isFailure, reasonOf, titleOf } from "../run/texts.ts";

/** Reads runs without their events; leaves out deleted runs. */
export async function readRecords({ deps, team }: Reader, ids: readonly RunId[]) {
  const pages = await Promise.all(ids.map((id) => deps.runs.find(team, id)));
  return pages.flatMap((page, i) => {
    const id = ids[i];
    return page === null || id === undefined ? [] : [assemble(id, page)];
  });
}

/** Status, goal, and why the run failed. */
function RunName({ run }: { readonly run: RunRecord }) {
  const title = titleOf({ run });
  const reason = reasonOf(run);
  return (
    <>
      <RunState run={run} isIcon /> <a class="row" href={runPath(run.id)}>{title}</a>
      {isFailure(run.status) && (
        <Why
          status={run.status}
          message={reason === title ? null : reason}
          path={failedPathOf(run)}
        />
      )}
    </>
  );
}

/** Columns of a table of runs; the class of the table is `failed-runs`. */
const COLUMNS: readonly Column<RunRecord>[] = [
  { head: "Run", isName: true, cell: (run) => <RunName run={run} /> },
  { head: "Customer", before: "for", cell: ({ customerId }) => customerId ?? "–" },
  { head: "Started", cell: ({ startedAt, receivedAt }) => <At at={startedAt ?? receivedAt} /> },
  column(
    "Took",
    { class: "num", before: "took" },
    ({ durationMs }) => durationMs === null ? "–" : durationText(durationMs),
  ),
  numberColumn("Cost", ({ cost }) => cost.amount === 0n ? "–" : <Money of={cost.amount} />),
];

/** A table of runs by their names; a sentence for none. */
export function NamedRuns({ label, runs, none }: {
  readonly label: string;
  readonly runs: readonly RunRecord[];
  readonly none: string;
}) {
  if (runs.length === 0) return <p class="soft">{none}</p>;
  return <Table label={label} class="fold failed-runs" columns={COLUMNS} rows={runs} />;
}
