/** The table of runs: one row a run, named by its goal, with the reason below a failed one. */
import type { Child } from "hono/jsx";
import { agentPath, runPath, RUNS_PATH } from "../layout/paths.ts";
import { At, Empty, Money } from "../components/elements.tsx";
import { FirstCommand, SampleRuns } from "../components/first_command.tsx";
import { Icon } from "../components/icons.tsx";
import { RunState, Why } from "../components/run_state.tsx";
import { type Column, NONE, TableHead, TableRow } from "../components/table.tsx";
import type { RunsData } from "./runs_load.ts";
import { captionOf, rowsOf, type RunRow } from "./runs_view.ts";

export function RunsTable({ data }: { readonly data: RunsData }) {
  return (
    <table class="list fold runs" data-rows>
      <caption class="sr">{captionOf(data)}</caption>
      <TableHead columns={COLUMNS} />
      <tbody>
        {rowsOf(data).map((row) => <TableRow columns={COLUMNS} row={row} class={row.class} />)}
      </tbody>
    </table>
  );
}

/** Id of the form that the ticks belong to. */
export const PICKED = "picked";

function column(head: Child, name: string, cell: Column<RunRow>["cell"]): Column<RunRow> {
  return { head, class: name, headClass: name, cell };
}

const COLUMNS: readonly Column<RunRow>[] = [
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
  { ...column("What it did", "what", What), isName: true },
  column("Agent", "agent", Agent),
  column("Customer", "customer", ({ run }) => run.customerId),
  column("Feature", "feature", ({ run }) => run.feature),
  column("Started", "started", ({ run }) => <At at={run.startedAt ?? run.receivedAt} />),
  column("Took", "num took", ({ took }) => took ?? NONE),
  column("Cost", "num cost", ({ cost }) => cost === 0n ? NONE : <Money of={cost} />),
  column("Tokens", "num tokens", ({ tokens }) => tokens ?? NONE),
  column("Flags", "notes", Notes),
];

function Agent({ run: { id, agent } }: RunRow) {
  if (agent === null) return <span class="quiet">not known yet</span>;
  return <a class="over" id={`${id}-agent`} href={agentPath(agent)}>{agent}</a>;
}

/** The name of a run, the link to its child runs, and why it failed. */
function What({ run, name, failure, children }: RunRow) {
  return (
    <>
      <div>
        <RunState run={run} isIcon />
        <a class="row" id={run.id} href={runPath(run.id)} title={name}>{name}</a>
        {children !== null && (
          <a
            class="kids over"
            href={children.to}
            aria-expanded={children.isOpen}
            aria-label={`${children.isOpen ? "Hide" : "Show"} ${children.text} child runs`}
          >
            <Icon name="chevron" />
            {children.text}
          </a>
        )}
      </div>
      {failure !== null && <Why status={run.status} {...failure} />}
    </>
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
export function EmptyList({ data: { query, page, target } }: { readonly data: RunsData }) {
  const live = query.isLive;
  if (page.next === null && query.has("cursor")) return <Empty title="No more runs" />;
  if (page.next !== null || query.changed({ limit: null, live: null }).size > 0) {
    return (
      <Empty title={page.next === null ? "No runs match" : "Nothing found so far"}>
        <p>
          {page.next !== null && "Search further back below. "}
          {live && "A matching run appears here automatically. "}
          Remove a filter above, or <a href={RUNS_PATH}>clear all of them</a>.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No runs yet">
      <FirstCommand id="first-run" call="ping" target={target} />
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
