/** The table of runs: one row a run, named by its goal, with the reason below a failed one. */
import type { Child } from "hono/jsx";
import { agentPath, runPath, RUNS_PATH } from "../layout/paths.ts";
import { Empty, Money } from "../components/elements.tsx";
import { FirstCommand, pingCommand, SampleRuns } from "../components/first_command.tsx";
import { Icon } from "../components/icons.tsx";
import { RunState } from "../components/run_columns.tsx";
import { type Column, TableHead, TableRow } from "../components/table.tsx";
import { At } from "../components/time.tsx";
import { isFailure } from "../run/steps.ts";
import type { ListQuery } from "./query.ts";
import type { RunsData } from "./runs_load.ts";
import { captionOf, rowsOf, type RunRow } from "./runs_view.ts";

export function RunsTable({ data }: { readonly data: RunsData }) {
  const columns = columnsFor(data.query);
  return (
    <table class="list fold runs" data-rows>
      <caption class="sr">{captionOf(data)}</caption>
      <TableHead columns={columns} />
      <tbody>
        {rowsOf(data).map((row) => <TableRow columns={columns} row={row} class={classOf(row)} />)}
      </tbody>
    </table>
  );
}

function classOf({ run: { status }, isChild }: RunRow): string | undefined {
  return [isFailure(status) && "failed", isChild && "child"].filter(Boolean).join(" ") || undefined;
}

/** Id of the form that the ticks belong to. */
export const PICKED = "picked";

const NONE = <span class="quiet">–</span>;

function columnsFor(query: ListQuery): readonly Column<RunRow>[] {
  const column = (head: Child, name: string, cell: Column<RunRow>["cell"]) => ({
    ...{ head, class: name, headClass: name, cell },
  });
  return [
    column(<span class="sr">Select</span>, "pick", ({ run: { id }, name }) => (
      <input
        class="over"
        type="checkbox"
        name="run"
        value={id}
        form={PICKED}
        aria-label={`Select ${name}`}
      />
    )),
    { ...column("What it did", "what", (row) => <What row={row} query={query} />), isName: true },
    column(
      "Agent",
      "agent",
      ({ run: { id, agent } }) =>
        agent === null
          ? <span class="quiet">not known yet</span>
          : <a class="over" id={`${id}-agent`} href={agentPath(agent)}>{agent}</a>,
    ),
    column("Customer", "customer", ({ run }) => run.customerId),
    column("Feature", "feature", ({ run }) => run.feature),
    column("Started", "started", ({ run }) => <At at={run.startedAt ?? run.receivedAt} />),
    column("Took", "num took", ({ took }) => took ?? NONE),
    column("Cost", "num cost", ({ cost }) => cost === 0n ? NONE : <Money of={cost} />),
    column("Tokens", "num tokens", ({ tokens }) => tokens ?? NONE),
    column("Flags", "notes", Notes),
  ];
}

function What({ row, query }: { readonly row: RunRow; readonly query: ListQuery }) {
  const { run, name, reason, isFresh } = row;
  return (
    <>
      <div>
        <RunState run={run} isIcon />
        <a class="row" id={run.id} href={runPath(run.id)} title={name}>{name}</a>
        {isFresh && <mark class="fresh">new</mark>}
        {row.children !== null && <Children row={row} query={query} />}
      </div>
      {reason !== null && (
        <p class={`why ${run.status === "timeout" ? "warn" : "bad"}`} title={reason}>{reason}</p>
      )}
    </>
  );
}

/** A link that shows or hides the child runs of a row. */
function Children({ row, query }: { readonly row: RunRow; readonly query: ListQuery }) {
  const { run: { id }, children, isOpen } = row;
  const others = query.getAll("open").filter((open) => open !== id);
  const open = isOpen ? others : [...others, id];
  return (
    <a
      class="kids over"
      href={`${query.path({ open, cursor: query.get("cursor") })}#${id}`}
      aria-expanded={isOpen}
      aria-label={`${isOpen ? "Hide" : "Show"} ${children} child runs`}
    >
      <Icon name="chevron" />
      {children}
    </a>
  );
}

/** The most important note of a row; the others are in the title of their number. */
function Notes({ notes: [first, ...more] }: RunRow) {
  if (first === undefined) return null;
  const [kind, text] = first;
  return (
    <>
      <span class={`tag ${kind}`} title={text}>{text}</span>
      {more.length > 0 && (
        <span class="tag" title={more.map(([, text]) => text).join(", ")}>+{more.length}</span>
      )}
    </>
  );
}

/** Shown instead of the table: explains how to fill it or how to find more. */
export function EmptyList({ query, page, target }: RunsData) {
  const live = query.isLive;
  if (page.next !== null) {
    return (
      <Empty title="Nothing found so far">
        <p>The search goes on below.</p>
      </Empty>
    );
  }
  if (query.has("cursor")) return <Empty title="No more runs" />;
  if (query.changed({ limit: null, live: null }).size > 0) {
    return (
      <Empty title="No runs match">
        <p>
          {live && "A matching run appears here automatically. "}
          Remove a filter above, or <a href={RUNS_PATH}>clear all of them</a>.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No runs yet">
      <FirstCommand id="first-run" text={pingCommand(target)} target={target} />
      <p>
        {live ? "It appears here automatically." : (
          <>
            Then load this page again, or <a href={query.path({ live: "1" })}>watch live</a>.
          </>
        )} <a href="/docs">See all API calls</a>
      </p>
      <SampleRuns of={target} />
    </Empty>
  );
}
