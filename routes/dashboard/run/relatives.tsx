/** A run within its tree: its parent and its children. */
import { runPath } from "../layout/paths.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import type { RunListRow } from "../../../domain/runs/list.ts";
import { Money, Section, Status } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { CHILDREN_LISTED, type LoadedRun } from "./load.ts";
import { rawPath } from "./paths.ts";

/** Shows the tree, if the run has a parent or children. */
export function Relatives(loaded: LoadedRun) {
  const { run, family, relatives } = loaded;
  const parentRunId = run.opening?.parentRunId;
  if (parentRunId === undefined && family.children.length === 0) return null;
  const self = (
    <>
      <b>{run.agent ?? "this run"}</b> (this run) <Status of={run.status} />{" "}
      <Money of={run.cost.amount} />
      <Children {...loaded} />
    </>
  );
  return (
    <Section id="family" title="Parent and children">
      <ul class="tree">
        <li>
          {parentRunId === undefined ? self : (
            <>
              <Relative id={parentRunId} row={relatives.get(parentRunId)} />
              <ul>
                <li>{self}</li>
              </ul>
            </>
          )}
        </li>
      </ul>
      {family.children.length > 0 && (
        <p>
          Together with all that it started: <Money of={run.cost.amount + family.cost} />
          {family.isCut && ", and what those beyond the nearest 200 cost"}.
        </p>
      )}
    </Section>
  );
}

function Children({ run, family: { children, hasMore }, relatives }: LoadedRun) {
  if (children.length === 0) return null;
  const unlisted = children.length - CHILDREN_LISTED;
  return (
    <ul>
      {children.slice(0, CHILDREN_LISTED).map((id) => (
        <li>
          <Relative id={id} row={relatives.get(id)} />
        </li>
      ))}
      {unlisted > 0 && (
        <li>
          and {hasMore ? `more than ${unlisted}` : unlisted} started earlier: see{" "}
          <code>links.children</code> <a href={rawPath(run.id, null, 1)}>in the JSON</a>
        </li>
      )}
    </ul>
  );
}

/** A run on one line. */
function Relative({ id, row }: { readonly id: RunId; readonly row: RunListRow | undefined }) {
  if (row === undefined) {
    return (
      <>
        <code>{id}</code>{" "}
        <span class="soft">is not here: it was not sent to this team yet, or is gone</span>
      </>
    );
  }
  return (
    <>
      <a href={runPath(id)}>{row.agent ?? id}</a> <Status of={row.status} />{" "}
      <span class="soft">{row.durationMs === null ? "" : durationText(row.durationMs)}</span>{" "}
      <Money of={row.cost.amount} />
    </>
  );
}
