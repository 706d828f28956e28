/** Some runs of an agent, with links to all of them. */
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { queryText, runPath, RUNS_PATH } from "../layout/paths.ts";
import { Ago, Money, Status } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { STATUS_LABELS } from "../components/statuses.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";

interface AgentRunsProps {
  readonly title: string;
  readonly agent: string;
  /** The statuses that are shown; empty for all. */
  readonly statuses: readonly RunStatus[];
  readonly rows: readonly RunListRow[];
  readonly now: number;
}

/** Shows a short table of runs. */
export function AgentRuns({ title, agent, statuses, rows, now }: AgentRunsProps) {
  const links = statuses.length === 0 ? [null] : statuses;
  return (
    <>
      <h2>{title}</h2>
      {rows.length === 0
        ? <p class="soft">None.</p>
        : <Table label={title} class="roomy folding" columns={columnsAt(now)} rows={rows} />}
      <p>
        {links.map((status, at) => (
          <>
            {at === 0 ? null : " · "}
            <a href={`${RUNS_PATH}${queryText([["agent", agent], ["status", status]])}`}>
              {status === null ? "All its runs" : `All that ${STATUS_LABELS[status]}`}
            </a>
          </>
        ))}
      </p>
    </>
  );
}

function columnsAt(now: number): readonly Column<RunListRow>[] {
  return [
    {
      head: "Started",
      cell: ({ startedAt, receivedAt }) => <Ago at={startedAt ?? receivedAt} now={now} />,
    },
    { head: "Status", cell: ({ status }) => <Status of={status} /> },
    {
      head: "Took",
      class: "number",
      before: "took",
      cell: ({ durationMs }) => durationMs === null ? "–" : durationText(durationMs),
    },
    numberColumn("Cost", ({ cost }) => <Money of={cost.amount} />),
    { head: "Customer", before: "for", cell: ({ customerId }) => customerId ?? "–" },
    { head: "Run", cell: ({ id }) => <RunLink id={id} /> },
  ];
}

/** Links to a run by the end of its id: ids created together differ only there. */
function RunLink({ id }: { readonly id: string }) {
  return (
    <a href={runPath(id)}>
      <code>…{id.slice(-8)}</code>
    </a>
  );
}
