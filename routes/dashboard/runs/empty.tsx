/** A list without runs: explains how to fill it or how to find more. */
import { Copyable, Empty } from "../components/elements.tsx";
import { isFiltered, isLiveList, listPath, liveParameter, type RunListQuery } from "./filters.tsx";

interface EmptyRunListProps {
  readonly filters: RunListQuery;
  /** Origin of the service as the browser sees it. */
  readonly origin: string;
  /** True if the search continues on the next page. */
  readonly goesOn: boolean;
}

/** Shown instead of the table. */
export function EmptyRunList({ filters, origin, goesOn }: EmptyRunListProps) {
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
  const line = `curl -fsS -u "$RUNLEDGER_KEY:" "${origin}/v1/ping?agent=nightly&exit_code=0"`;
  return (
    <Empty title="No runs yet">
      <p>
        Send the first one from a shell. The key is one with the scope <code>ingest</code>.
      </p>
      <Copyable id="first-run" text={line} />
      <p>
        {live ? "It appears here automatically." : (
          <>
            Then load this page again, or{" "}
            <a href={listPath(new Map(), { live: "1" })}>watch live</a>.
          </>
        )} <a href="/docs">All the calls there are</a>
      </p>
    </Empty>
  );
}
