/** The table of runs: status, duration, calls and cost of each. */
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow, RunTrait } from "../../../domain/runs/list.ts";
import { agentPath, runPath } from "../layout/paths.ts";
import { Money } from "../components/elements.tsx";
import { At } from "../components/time.tsx";
import { countedText, durationText, formatCount, pluralOf } from "../components/format.ts";
import { RunState } from "../components/run_state.tsx";
import { type Column, TableHead, TableRow } from "../components/table.tsx";
import { listPath, liveParameter, type RunListQuery } from "./filters.tsx";
import type { CostFlag } from "../../../domain/runs/cost.ts";
import type { RunFlag } from "../../../domain/runs/flags.ts";

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
    <table class="list fold runs">
      <caption>
        {countedText(rows.length, "run")}, newest first, as of <At at={nowMs} />
      </caption>
      <TableHead columns={columns} />
      <tbody>{rows.map((row) => <TableRow columns={columns} row={row} />)}</tbody>
    </table>
  );
}

function columnsFor({ rows, fresh, filters, nowMs }: TableProps): readonly Column<RunListRow>[] {
  const longestMs = rows.reduce((longest, { durationMs }) => Math.max(longest, durationMs ?? 0), 0);
  return [
    { head: "Status", class: "standing", cell: (run) => <RunState run={run} /> },
    {
      head: "Run",
      isName: true,
      class: "run-name",
      cell: ({ id, kind }) => (
        <>
          <a class="row" id={id} href={runPath(id)} title={id}>…{id.slice(-ID_CHARS)}</a>{" "}
          {fresh.has(id) && <mark class="fresh">new</mark>}{" "}
          {kind === "heartbeat" && <small>heartbeat</small>}
        </>
      ),
    },
    {
      head: "Started",
      class: "started",
      cell: ({ startedAt, receivedAt }) => <At at={startedAt ?? receivedAt} />,
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
      class: "num cost",
      cell: ({ cost: { state, amount }, status }) => (
        <>
          {state !== "final" && <small>{status === "running" ? "so far" : "not final"}</small>}{" "}
          <Money of={amount} />
        </>
      ),
    },
    { head: "Models", class: "text models", cell: ({ cost }) => <Models of={cost.models} /> },
    { head: "Calls", class: "num calls", cell: ({ cost }) => formatCount(cost.calls) },
    {
      head: "Events",
      class: "num events",
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
            {text}
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
        {durationText(Math.max(0, nowMs - startedAt))} <small>so far</small>
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

export interface RunNote {
  /** `bad` for failures, `warn` for reasons to doubt a metric. */
  readonly kind: "bad" | "warn" | "soft";
  readonly text: string;
}

const FLAG_NOTES: Readonly<Record<RunFlag | CostFlag, string | null>> = {
  batch_rate_missing: "no batch rate",
  dropped_fields: "fields not stored",
  future_start: "starts in the future",
  ignored_fields: "unknown fields ignored",
  negative_duration: "ends before it starts",
  // Same as the trait `orphan`.
  no_opening: null,
  no_tokens: "a call without token counts",
  truncated: "values cut to their limit",
  unreadable_figures: "unreadable numbers",
  cached_exceeds_input: "more cached than input tokens",
};

const TRAIT_NOTES: Readonly<Record<RunTrait, RunNote | null>> = {
  // Shown with the names of the models.
  unpriced: null,
  failed_check: { kind: "bad", text: "failed a check" },
  late: { kind: "soft", text: "events after its end" },
  orphan: { kind: "warn", text: "no opening yet" },
};

/** Lists the notes about a run. */
export function notesOf(row: RunListRow): readonly RunNote[] {
  const { usage: { errors }, cost, flags, has, closedBy } = row;
  const [unpriced, ...others] = cost.unpricedModels;
  const more = others.length === 0 ? "" : ` and ${others.length} more`;
  const notes: readonly (RunNote | null)[] = [
    closedBy === "idle" ? { kind: "warn", text: "closed without an event" } : null,
    errors === 0 ? null : { kind: "bad", text: countedText(errors, "error") },
    unpriced === undefined ? null : { kind: "warn", text: `no price: ${unpriced}${more}` },
    ...has.map((trait) => TRAIT_NOTES[trait]),
    ...[...flags, ...cost.flags].flatMap((flag) => FLAG_NOTES[flag] ?? [])
      .map((text) => ({ kind: "warn" as const, text })),
  ];
  return notes.filter((note) => note !== null);
}
