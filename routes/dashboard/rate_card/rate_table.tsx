/** Tables of rate card rows. */
import type { Child } from "hono/jsx";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { RateRow, Rates } from "../../../domain/pricing/rates.ts";
import { Actor, type ActorNames } from "../keys/labels.tsx";
import { Ago } from "../components/time.tsx";
import { formatCount } from "../components/format.ts";
import { type Column, Table } from "../components/table.tsx";
import { typedInstant } from "./rate_values.ts";
import { deletePath, editPath } from "./paths.ts";

/** A row and the content of its last cell. */
interface ShownRate {
  readonly row: RateRow;
  readonly last: Child;
}

/** Shows rows; `lastName` is the header of the last column. */
export function RateTable(
  { label, rows, lastName = "Action" }: {
    readonly label: string;
    readonly rows: readonly ShownRate[];
    readonly lastName?: string;
  },
) {
  return (
    <Table
      label={label}
      class="fold named"
      caption={<caption class="sr">{label}, in dollars per million tokens</caption>}
      columns={[...COLUMNS, { head: lastName, class: "words", cell: ({ last }) => last }]}
      rows={rows}
    />
  );
}

const COLUMNS: readonly Column<ShownRate>[] = [
  { head: "Model", isName: true, cell: ({ row }) => [row.model, <Tiers row={row} />] },
  { head: "Provider", class: "words", cell: ({ row }) => row.provider ?? "any" },
  rateColumn("Input $/M", "in", "input"),
  rateColumn("Output $/M", "out", "output"),
  rateColumn("Cached $/M", "cached", "cachedInput"),
  rateColumn("Cache write $/M", "cache write", "cacheWrite"),
  {
    head: "In force",
    class: "since",
    before: "in force",
    cell: ({ row: { from } }) => from === null ? "always" : `from ${typedInstant(from)}`,
  },
];

function rateColumn(head: string, before: string, name: keyof Rates): Column<ShownRate> {
  const cell = ({ row: { rates } }: ShownRate) => {
    const rate = rates[name];
    return rate === null ? "as input" : usdPerMillion(rate);
  };
  return { head, class: "num", before, cell };
}

function Tiers({ row: { tiers, batchPercent } }: { readonly row: RateRow }) {
  return (
    <>
      {batchPercent !== undefined && (
        <div class="soft">in a batch: {batchPercent}% of these rates</div>
      )}
      {tiers.map(({ aboveInputTokens, rates }) => (
        <div class="soft">
          above {formatCount(aboveInputTokens)} tokens: {usdPerMillion(rates.input)} in,{" "}
          {usdPerMillion(rates.output)} out
        </div>
      ))}
    </>
  );
}

/** Links that change and delete an own row, and its origin. */
export function OwnActions(
  { rate: { row, createdAt, createdBy, note }, names, now }: {
    readonly rate: OwnRate;
    readonly names: ActorNames;
    readonly now: number;
  },
) {
  return (
    <>
      <a href={editPath(row)} aria-label={`Change ${row.model}`}>Change</a>{" "}
      <a href={deletePath(row.id)} aria-label={`Delete ${row.model}`}>Delete</a>
      <div class="soft">
        set <Ago at={createdAt} now={now} /> by{" "}
        <Actor id={createdBy} name={names.get(createdBy) ?? null} />
        {note === undefined ? null : <>: {note}</>}
      </div>
    </>
  );
}
