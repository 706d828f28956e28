/** The table of runs: status, duration, calls and cost of each. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { agentPath, runPath } from "../layout/paths.ts";
import { Ago, Money, Status } from "../components/elements.tsx";
import { countedText, durationText, formatCount, pluralOf } from "../components/format.ts";
import { type Column, TableHead, TableRow } from "../components/table.tsx";
import { listPath, type RunListQuery } from "./filters.tsx";
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
  readonly live: boolean;
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

function columnsFor(
  { rows, fresh, filters, live, nowMs }: TableProps,
): readonly Column<RunListRow>[] {
  const longestMs = rows.reduce((longest, { durationMs }) => Math.max(longest, durationMs ?? 0), 0);
  return [
    { head: "Status", class: "standing", cell: ({ status }) => <Status of={status} /> },
    {
      head: "Run",
      isName: true,
      class: "run-name",
      cell: (row) => <RunName row={row} isFresh={fresh.has(row.id)} />,
    },
    {
      head: "Started",
      class: "started",
      cell: ({ startedAt, receivedAt }) => <Ago at={startedAt ?? receivedAt} now={nowMs} />,
    },
    { head: "Agent", class: "text agent", cell: (row) => <AgentLink row={row} /> },
    {
      head: "Duration",
      class: "duration",
      cell: (row) => <Duration row={row} longestMs={longestMs} nowMs={nowMs} />,
    },
    { head: "Cost", class: "number cost", cell: (row) => <Cost row={row} /> },
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
      cell: (row) => <Labels row={row} filters={filters} live={live} />,
    },
    { head: "Notes", class: "text notes", cell: (row) => <Notes row={row} /> },
  ];
}

interface RunNameProps {
  readonly row: RunListRow;
  readonly isFresh: boolean;
}

function RunName({ row: { id, kind }, isFresh }: RunNameProps) {
  return (
    <>
      <a id={id} href={runPath(id)} title={id}>…{id.slice(-ID_CHARS)}</a>{" "}
      {isFresh ? <mark class="fresh">✦ new</mark> : null}{" "}
      {kind === "heartbeat" ? <small>heartbeat</small> : null}
    </>
  );
}

function Cost({ row: { cost, status } }: { readonly row: RunListRow }) {
  const isFinal = cost.state === "final";
  return (
    <>
      <Money of={cost.amount} />
      {isFinal ? null : <small>{status === "running" ? "so far" : "not final"}</small>}
    </>
  );
}

function AgentLink({ row: { id, agent } }: { readonly row: RunListRow }) {
  return agent === null
    ? <span class="soft">not known yet</span>
    : <a id={`${id}-agent`} href={agentPath(agent)}>{agent}</a>;
}

/** The duration of a run, also as a bar relative to the longest on the page. */
function Duration(
  { row: { status, startedAt, durationMs }, longestMs, nowMs }: {
    readonly row: RunListRow;
    readonly longestMs: number;
    readonly nowMs: number;
  },
) {
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

/** Shows the customer and the feature of a run, as links that filter by them. */
function Labels(
  { row, filters, live }: Pick<TableProps, "filters" | "live"> & { readonly row: RunListRow },
) {
  const labels = [["customer_id", row.customerId], ["feature", row.feature]] as const;
  const liveParameter = { live: live ? "1" : null };
  return (
    <>
      {labels.map(([name, value]) =>
        value === null ? null : (
          <a
            class="label"
            id={`${row.id}-${name}`}
            href={listPath(filters, { [name]: value, ...liveParameter })}
            title={`Only runs with this ${name === "feature" ? "feature" : "customer"}`}
          >
            {value}
          </a>
        )
      )}
    </>
  );
}

function Notes({ row }: { readonly row: RunListRow }) {
  return (
    <>
      {notesOf(row).map(({ kind, text }) => (
        <span class={`tag ${kind}`}>
          <span aria-hidden="true">{kind === "soft" ? "·" : "⚠"}</span> {text}
        </span>
      ))}
    </>
  );
}
