/** The table of runs: status, duration, calls and cost of each. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { agentPath, runPath } from "../layout/paths.ts";
import { Ago, Money, Status } from "../components/elements.tsx";
import { countedText, durationText, formatCount, pluralOf } from "../components/format.ts";
import { type Column, TableHead, TableRow } from "../components/table.tsx";
import { listPath, liveParameter, type RunListQuery } from "./filters.tsx";
import { notesOf } from "./labels.ts";

/** Width of the longest bar, in pixels. */
const BAR_WIDTH = 84;

/** Characters shown of an id: its end, because ids created in succession start alike. */
const ID_CHARS = 8;

interface TableProps {
  readonly rows: readonly RunListRow[];
  /** Runs that the browser has not shown yet. */
  readonly fresh: ReadonlySet<RunId>;
  readonly filters: RunListQuery;
  readonly nowMs: number;
}

export function RunsTable(props: TableProps) {
  const { rows, nowMs } = props;
  const columns = columnsFor(props);
  return (
    <table class="runs folding">
      <caption>
        {countedText(rows.length, "run")}, newest first, as of{" "}
        <time datetime={formatInstant(nowMs)}>{formatInstant(nowMs).slice(11, 19)} UTC</time>
      </caption>
      <TableHead columns={columns} />
      <tbody>{rows.map((row) => <TableRow columns={columns} row={row} />)}</tbody>
    </table>
  );
}

function columnsFor({ rows, fresh, filters, nowMs }: TableProps): readonly Column<RunListRow>[] {
  const longestMs = rows.reduce((longest, { durationMs }) => Math.max(longest, durationMs ?? 0), 0);
  return [
    { head: "Status", class: "standing", cell: ({ status }) => <Status of={status} /> },
    {
      head: "Run",
      isName: true,
      class: "run-name",
      cell: ({ id, kind }) => (
        <>
          <a id={id} href={runPath(id)} title={id}>…{id.slice(-ID_CHARS)}</a>{" "}
          {fresh.has(id) && <mark class="fresh">✦ new</mark>}{" "}
          {kind === "heartbeat" && <small>heartbeat</small>}
        </>
      ),
    },
    {
      head: "Started",
      class: "started",
      cell: ({ startedAt, receivedAt }) => <Ago at={startedAt ?? receivedAt} now={nowMs} />,
    },
    {
      head: "Agent",
      class: "text agent",
      cell: ({ id, agent }) =>
        agent === null
          ? <span class="soft">not known yet</span>
          : <a id={`${id}-agent`} href={agentPath(agent)}>{agent}</a>,
    },
    {
      head: "Duration",
      class: "duration",
      cell: (row) => <Duration {...row} longestMs={longestMs} nowMs={nowMs} />,
    },
    {
      head: "Cost",
      class: "number cost",
      cell: ({ cost: { state, amount }, status }) => (
        <>
          <Money of={amount} />
          {state !== "final" && <small>{status === "running" ? "so far" : "not final"}</small>}
        </>
      ),
    },
    { head: "Models", class: "text models", cell: ({ cost }) => <Models of={cost.models} /> },
    { head: "Calls", class: "number calls", cell: ({ cost }) => formatCount(cost.calls) },
    {
      head: "Events",
      class: "number events",
      unit: ({ usage }) => pluralOf(usage.events, "event"),
      cell: ({ usage }) => formatCount(usage.events),
    },
    {
      head: "For",
      class: "text labels",
      cell: (row) => <Labels {...row} filters={filters} />,
    },
    {
      head: "Notes",
      class: "text notes",
      cell: (row) =>
        notesOf(row).map(({ kind, text }) => (
          <span class={`tag ${kind}`}>
            <span aria-hidden="true">{kind === "soft" ? "·" : "⚠"}</span> {text}
          </span>
        )),
    },
  ];
}

interface DurationProps extends RunListRow, Pick<TableProps, "nowMs"> {
  readonly longestMs: number;
}

/** The duration of a run, also as a bar relative to the longest on the page. */
function Duration({ status, startedAt, durationMs, longestMs, nowMs }: DurationProps) {
  if (durationMs === null) {
    if (status !== "running" || startedAt === null) return <span class="soft">unknown</span>;
    return (
      <>
        {durationText(Math.max(0, nowMs - startedAt))}
        <small>so far</small>
      </>
    );
  }
  const share = longestMs === 0 ? 0 : durationMs / longestMs;
  const width = Math.max(1, Math.round(share * BAR_WIDTH));
  return (
    <>
      {durationText(durationMs)}
      <svg class="took" width={BAR_WIDTH} height="6" aria-hidden="true">
        <rect class="track" width={BAR_WIDTH} height="6" rx="2" />
        <rect class={status} width={width} height="6" rx="2" />
      </svg>
    </>
  );
}

/** The model with the highest cost, and the number of other models. */
function Models({ of }: { readonly of: RunListRow["cost"]["models"] }) {
  const names = [...of].sort((a, b) => Number(b.cost - a.cost) || b.calls - a.calls)
    .map(({ model }) => model);
  const all = [...new Set(names)];
  const [first] = all;
  if (first === undefined) return <span class="soft">none</span>;
  return all.length === 1 ? <>{first}</> : (
    <span title={all.join(", ")}>
      {first} <span class="soft">+{all.length - 1} more</span>
    </span>
  );
}

type LabelsProps = RunListRow & Pick<TableProps, "filters">;

/** Shows the customer and the feature of a run, as links that filter by them. */
function Labels({ id, customerId, feature, filters }: LabelsProps) {
  const labels = [["customer_id", customerId, "customer"], [
    "feature",
    feature,
    "feature",
  ]] as const;
  return (
    <>
      {labels.map(([name, value, noun]) =>
        value !== null && (
          <a
            class="label"
            id={`${id}-${name}`}
            href={listPath(filters, { [name]: value, ...liveParameter(filters) })}
            title={`Only runs with this ${noun}`}
          >
            {value}
          </a>
        )
      )}
    </>
  );
}
