/** Tables of rejected calls: by reason, and the latest with their messages. */
import { REFUSAL_LIMITS as KEPT } from "../../../domain/core/limits.ts";
import type { Refusal, RefusalGroup } from "../../../domain/refusals/refusals.ts";
import { Ago } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";

/**
 * Columns of reasons. Agents are not linked: an agent whose calls were all rejected has no page.
 */
const KIND_COLUMNS: readonly Column<RefusalGroup>[] = [
  { head: "Code", isName: true, cell: ({ code }) => <code>{code}</code> },
  { head: "Field", before: "field", cell: ({ field }) => field ?? "–" },
  { head: "Agent", before: "agent", cell: ({ agent }) => agent ?? "–" },
  { head: "Client", before: "client", cell: ({ userAgent }) => userAgent ?? "–" },
  numberColumn("Requests", ({ count }) => formatCount(count), "requests"),
];

/** Shows how often each reason occurred, the most frequent first. */
export function KindsTable({ kinds }: { readonly kinds: readonly RefusalGroup[] }) {
  return (
    <section>
      <h2>Reasons</h2>
      <Table
        label="Reasons"
        class="roomy folding"
        caption={<caption class="soft">Of this period, the most frequent first.</caption>}
        columns={KIND_COLUMNS}
        rows={kinds}
      />
    </section>
  );
}

interface LatestProps {
  readonly latest: readonly Refusal[];
  readonly nowMs: number;
}

/** Shows the latest calls with their responses. */
export function LatestTable({ latest, nowMs }: LatestProps) {
  const columns: readonly Column<Refusal>[] = [
    { head: "When", cell: ({ at }) => <Ago at={at} now={nowMs} /> },
    { head: "Request", cell: ({ route }) => <code>{route}</code> },
    { head: "Answer", class: "whole", cell: (refusal) => <Answer of={refusal} /> },
    { head: "Agent", before: "agent", cell: ({ agent }) => agent ?? "–" },
    { head: "Client", before: "client", cell: ({ userAgent }) => userAgent ?? "–" },
    { head: "X-Request-Id", cell: ({ requestId }) => <code>{requestId}</code> },
  ];
  return (
    <section>
      <h2>Latest</h2>
      <Table
        label="Latest"
        class="roomy folding"
        caption={
          <caption class="soft">
            Up to {KEPT.latest} of the last {KEPT.days}{" "}
            days, newest first. Of calls that exceed the request rate only the first of each minute
            are listed.
          </caption>
        }
        columns={columns}
        rows={latest}
      />
    </section>
  );
}

function Answer({ of: { code, message } }: { readonly of: Refusal }) {
  return (
    <>
      <code>{code}</code> {message}
    </>
  );
}
