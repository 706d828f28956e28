/** Some runs of an agent, and the way to all of them. */
import type { RunListRow } from "../../../domain/runs/list.ts";
import type { RunStatus } from "../../../domain/runs/run.ts";
import { queryText, runPath, RUNS_PATH } from "../layout/paths.ts";
import { Ago, Money, Status, Wide } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { STATUS_LABELS } from "../components/statuses.ts";

interface Listed {
  readonly title: string;
  readonly agent: string;
  /** The statuses that are shown; empty for all. */
  readonly statuses: readonly RunStatus[];
  readonly rows: readonly RunListRow[];
  readonly now: number;
}

/** A short table of runs. */
export function RunsOf({ title, agent, statuses, rows, now }: Listed) {
  const links = statuses.length === 0 ? [null] : statuses;
  return (
    <>
      <h2>{title}</h2>
      {rows.length === 0 ? <p class="soft">None.</p> : (
        <Wide label={title}>
          <table class="roomy folding">
            <thead>
              <tr>
                <th scope="col">Started</th>
                <th scope="col">Status</th>
                <th scope="col" class="number">Took</th>
                <th scope="col" class="number">Cost</th>
                <th scope="col">Customer</th>
                <th scope="col">Run</th>
              </tr>
            </thead>
            <tbody>{rows.map((row) => <RunRow of={row} now={now} />)}</tbody>
          </table>
        </Wide>
      )}
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

function RunRow({ of, now }: { readonly of: RunListRow; readonly now: number }) {
  return (
    <tr>
      <td>
        <Ago at={of.startedAt ?? of.receivedAt} now={now} />
      </td>
      <td>
        <Status of={of.status} />
      </td>
      <td class="number" data-before="took">
        {of.durationMs === null ? "–" : durationText(of.durationMs)}
      </td>
      <td class="number">
        <Money of={of.cost.amount} />
      </td>
      <td data-before="for">{of.customerId ?? "–"}</td>
      <td>
        <a href={runPath(of.id)}>
          <code>{shortId(of.id)}</code>
        </a>
      </td>
    </tr>
  );
}

/** The end of an id, which is where ids of one moment differ. */
function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}
