/** The table of runs: one row a run, named by its goal, with the reason below a failed one. */
import type { RunStatus } from "../../../domain/runs/run.ts";
import { agentPath, runPath, RUNS_PATH } from "../layout/paths.ts";
import { Empty, Money } from "../components/elements.tsx";
import { FirstCommand, pingCommand, SampleRuns } from "../components/first_command.tsx";
import { compactText, durationText } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { RunState } from "../components/run_columns.tsx";
import type { Column } from "../components/table.tsx";
import { At } from "../components/time.tsx";
import { isFailure } from "../run/steps.ts";
import { isFiltered, isLiveList, listPath, type ListQuery, OF_TIME } from "./query.ts";
import type { RunsData } from "./runs_load.ts";
import type { RunRow } from "./runs_view.ts";

interface TableProps {
  readonly rows: readonly RunRow[];
  readonly query: ListQuery;
  readonly caption: string;
}

export function RunsTable({ rows, query, caption }: TableProps) {
  const columns = columnsFor(query);
  return (
    <table class="list fold runs" data-rows>
      <caption class="sr">{caption}</caption>
      <thead>
        <tr>{columns.map(({ head, class: name }) => <th scope="col" class={name}>{head}</th>)}</tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr class={classOf(row)}>
            {columns.map(({ isName, class: name, cell }) =>
              isName
                ? <th scope="row" class={name}>{cell(row)}</th>
                : <td class={name}>{cell(row)}</td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function classOf({ run: { status }, isChild }: RunRow): string | undefined {
  const names = [isFailure(status) ? "failed" : "", isChild ? "child" : ""];
  return names.join(" ").trim() || undefined;
}

/** Id of the form that the ticks belong to. */
export const PICKED = "picked";

/** Maximum notes of a row; the others are in its title. */
const NOTES_SHOWN = 1;

function columnsFor(query: ListQuery): readonly Column<RunRow>[] {
  return [
    {
      head: <span class="sr">Select</span>,
      class: "pick",
      cell: ({ run: { id }, name }) => (
        <input
          class="over"
          type="checkbox"
          name="run"
          value={id}
          form={PICKED}
          aria-label={`Select ${name}`}
        />
      ),
    },
    {
      head: "What it did",
      isName: true,
      class: "what",
      cell: (row) => <What {...{ row, query }} />,
    },
    {
      head: "Agent",
      class: "agent",
      cell: ({ run: { id, agent } }) =>
        agent === null
          ? <span class="quiet">not known yet</span>
          : <a class="over" id={`${id}-agent`} href={agentPath(agent)}>{agent}</a>,
    },
    { head: "Customer", class: "customer", cell: ({ run }) => run.customerId },
    { head: "Feature", class: "feature", cell: ({ run }) => run.feature },
    {
      head: "Started",
      class: "started",
      cell: ({ run: { startedAt, receivedAt } }) => <At at={startedAt ?? receivedAt} />,
    },
    {
      head: "Took",
      class: "num took",
      cell: ({ tookMs }) => tookMs === null ? NONE : durationText(tookMs),
    },
    {
      head: "Cost",
      class: "num cost",
      cell: ({ cost }) => cost === 0n ? NONE : <Money of={cost} />,
    },
    {
      head: "Tokens",
      class: "num tokens",
      cell: ({ tokens }) => tokens === 0n ? NONE : compactText(tokens),
    },
    { head: "Flags", class: "notes", cell: (row) => <Notes {...row} /> },
  ];
}

const NONE = <span class="quiet">–</span>;

function What({ row, query }: { readonly row: RunRow; readonly query: ListQuery }) {
  const { run, name, reason, children, isOpen, isFresh } = row;
  return (
    <>
      <div>
        <RunState run={run} isIcon />
        <a class="row" id={run.id} href={runPath(run.id)} title={name}>{name}</a>
        {isFresh && <mark class="fresh">new</mark>}
        {children !== null && <Children {...{ run, query, children, isOpen }} />}
      </div>
      {reason !== null && <p class={`why ${whyClass(run.status)}`} title={reason}>{reason}</p>}
    </>
  );
}

function whyClass(status: RunStatus): string {
  return status === "timeout" ? "warn" : "bad";
}

type ChildrenProps = Pick<RunRow, "run" | "isOpen"> & {
  readonly query: ListQuery;
  readonly children: string;
};

/** A link that shows or hides the child runs of a row. */
function Children({ run: { id }, query, children, isOpen }: ChildrenProps) {
  const others = query.getAll("open").filter((open) => open !== id);
  const open = isOpen ? others : [...others, id];
  const path = listPath(query, { open, cursor: query.get("cursor") });
  return (
    <a
      class="kids over"
      href={`${path}#${id}`}
      aria-expanded={isOpen}
      aria-label={`${isOpen ? "Hide" : "Show"} ${children} child runs`}
    >
      <Icon name="chevron" />
      {children}
    </a>
  );
}

function Notes({ notes }: RunRow) {
  const more = notes.slice(NOTES_SHOWN);
  return (
    <>
      {notes.slice(0, NOTES_SHOWN).map(({ kind, text }) => (
        <span class={`tag ${kind}`} title={text}>{text}</span>
      ))}
      {more.length > 0 && (
        <span class="tag" title={more.map(({ text }) => text).join(", ")}>+{more.length}</span>
      )}
    </>
  );
}

/** Shown instead of the table: explains how to fill it or how to find more. */
export function EmptyList({ query, page, target }: RunsData) {
  const live = isLiveList(query);
  if (page.next !== null) {
    return (
      <Empty title="Nothing found so far">
        <p>The search goes on below.</p>
      </Empty>
    );
  }
  if (query.has("cursor")) return <Empty title="No more runs" />;
  if (isFiltered(query) || OF_TIME.some((name) => query.has(name))) {
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
            Then load this page again, or <a href={listPath(query, { live: "1" })}>watch live</a>.
          </>
        )} <a href="/docs">See all API calls</a>
      </p>
      <SampleRuns of={target} />
    </Empty>
  );
}
