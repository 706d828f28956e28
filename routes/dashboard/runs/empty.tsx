/** A list without runs: explains how to fill it or how to find more. */
import { Empty } from "../components/elements.tsx";
import {
  type CommandTarget,
  FirstCommand,
  pingCommand,
  SampleRuns,
} from "../components/first_command.tsx";
import { isFiltered, isLiveList, listPath, liveParameter, type RunListQuery } from "./filters.tsx";

interface EmptyRunListProps {
  readonly filters: RunListQuery;
  readonly target: CommandTarget;
  /** True if the search continues on the next page. */
  readonly goesOn: boolean;
}

/** Shown instead of the table. */
export function EmptyRunList({ filters, target, goesOn }: EmptyRunListProps) {
  if (goesOn) {
    return (
      <Empty title="Nothing found so far">
        <p>The search goes on below.</p>
      </Empty>
    );
  }
  if (filters.has("cursor")) {
    return (
      <Empty title="No more runs">
        <p>
          <a href={listPath(filters)}>Back to the newest</a>
        </p>
      </Empty>
    );
  }
  const live = isLiveList(filters);
  if (isFiltered(filters)) {
    return (
      <Empty title="No matching runs">
        <p>
          {live && "A matching run appears here automatically. "}
          Remove a filter above, or{" "}
          <a href={listPath(new Map(), liveParameter(filters))}>clear all of them</a>.
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
            Then load this page again, or{" "}
            <a href={listPath(new Map(), { live: "1" })}>watch live</a>.
          </>
        )} <a href="/docs">See all API calls</a>
      </p>
      <SampleRuns of={target} />
    </Empty>
  );
}
