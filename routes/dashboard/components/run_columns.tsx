/** Columns that tables of a few runs share. */
import type { CostSum } from "../../../domain/runs/cost.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunRecord } from "../../../domain/runs/record.ts";
import { runPath } from "../layout/paths.ts";
import { Money } from "./elements.tsx";
import { durationText } from "./format.ts";
import { RunState } from "./run_state.tsx";
import { type Column, numberColumn } from "./table.tsx";
import { At } from "./time.tsx";

/** The start, which links to the run, and the status. */
export const RUN_COLUMNS: readonly Column<RunListRow>[] = [
  {
    head: "Started",
    isName: true,
    cell: ({ id, startedAt, receivedAt }) => (
      <a class="row" href={runPath(id)}>
        <At at={startedAt ?? receivedAt} />
      </a>
    ),
  },
  { head: "Status", cell: (run) => <RunState run={run} /> },
];

type Figures = Pick<RunRecord, "durationMs"> & { readonly cost: Pick<CostSum, "amount"> };

/** The duration and the cost. */
export const FIGURE_COLUMNS: readonly Column<Figures>[] = [
  {
    head: "Took",
    class: "num",
    before: "took",
    cell: ({ durationMs }) => durationMs === null ? "–" : durationText(durationMs),
  },
  numberColumn("Cost", ({ cost }) => <Money of={cost.amount} />),
];
