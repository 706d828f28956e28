/** The table of runs: a row says how a run went, how long it took, what it called and what it cost. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { agentPath, runPath } from "../layout/paths.ts";
import { Ago, Money, Status } from "../components/elements.tsx";
import { countedText, durationText, formatCount, pluralOf } from "../components/format.ts";
import { listPath, type RunListQuery } from "./filters.tsx";
import { notesOf } from "./labels.ts";

/** Width of the longest bar, in pixels. */
const BAR_WIDTH = 84;

/** Characters of an id that are shown: its end, as ids made one after the other begin alike. */
const ID_CHARS = 8;

/** What a page of the list is shown with. */
export interface TableProps {
  readonly rows: readonly RunListRow[];
  /** Those that were not there when the page was last looked at. */
  readonly fresh: ReadonlySet<RunId>;
  readonly asked: RunListQuery;
  readonly live: boolean;
  readonly nowMs: number;
}

/** The runs of a page. */
export function RunsTable(props: TableProps) {
  const { rows, nowMs } = props;
  const longestMs = rows.reduce((longest, { durationMs }) => Math.max(longest, durationMs ?? 0), 0);
  return (
    <table class="runs folding">
      <caption>
        {countedText(rows.length, "run")}, newest first, as of{" "}
        <time datetime={formatInstant(nowMs)}>{formatInstant(nowMs).slice(11, 19)} UTC</time>
      </caption>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Run</th>
          <th scope="col">Started</th>
          <th scope="col">Agent</th>
          <th scope="col">Duration</th>
          <th scope="col" class="number">Cost</th>
          <th scope="col">Models</th>
          <th scope="col" class="number">Calls</th>
          <th scope="col" class="number">Events</th>
          <th scope="col">For</th>
          <th scope="col">Notes</th>
        </tr>
      </thead>
      <tbody>{rows.map((row) => <Row row={row} longestMs={longestMs} {...props} />)}</tbody>
    </table>
  );
}

function Row(
  { row, longestMs, fresh, asked, live, nowMs }: TableProps & {
    readonly row: RunListRow;
    readonly longestMs: number;
  },
) {
  const { id, startedAt, receivedAt, cost, usage } = row;
  return (
    <tr>
      <td class="standing">
        <Status of={row.status} />
      </td>
      <th scope="row" class="run-name">
        <a id={id} href={runPath(id)} title={id}>…{id.slice(-ID_CHARS)}</a>{" "}
        {fresh.has(id) ? <mark class="fresh">✦ new</mark> : null}{" "}
        {row.kind === "heartbeat" ? <small>heartbeat</small> : null}
      </th>
      <td class="started">
        <Ago at={startedAt ?? receivedAt} now={nowMs} />
      </td>
      <td class="text agent">
        <AgentLink row={row} />
      </td>
      <td class="duration">
        <Duration row={row} longestMs={longestMs} nowMs={nowMs} />
      </td>
      <td class="number cost">
        <Money of={cost.amount} />
        {cost.state === "final"
          ? null
          : <small>{row.status === "running" ? "so far" : "not final"}</small>}
      </td>
      <td class="text models">
        <Models of={cost.models} />
      </td>
      <td class="number calls">{formatCount(cost.calls)}</td>
      <td class="number events" data-unit={pluralOf(usage.events, "event")}>
        {formatCount(usage.events)}
      </td>
      <td class="text labels">
        <Labels row={row} asked={asked} live={live} />
      </td>
      <td class="text notes">
        <Notes row={row} />
      </td>
    </tr>
  );
}

function AgentLink({ row: { id, agent } }: { readonly row: RunListRow }) {
  return agent === null
    ? <span class="soft">not told yet</span>
    : <a id={`${id}-agent`} href={agentPath(agent)}>{agent}</a>;
}

/** How long a run took, also as a bar against the longest on the page. */
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

/** The model that cost most, and how many others there are. */
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

/** Whom and what a run was for, each a link to what else was. */
function Labels(
  { row, asked, live }: Pick<TableProps, "asked" | "live"> & { readonly row: RunListRow },
) {
  const labels = [["customer_id", row.customerId], ["feature", row.feature]] as const;
  const kept = { live: live ? "1" : null };
  return (
    <>
      {labels.map(([name, value]) =>
        value === null ? null : (
          <a
            class="label"
            id={`${row.id}-${name}`}
            href={listPath(asked, { [name]: value, ...kept })}
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
