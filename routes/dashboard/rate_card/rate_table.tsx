/** Rows of a rate card as tables. */
import { queryText } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import type { OwnRate } from "../../../domain/pricing/rate_store.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { RateRow, Rates } from "../../../domain/pricing/rates.ts";
import { Actor, type ActorNames } from "../keys/actor.tsx";
import { Ago, Wide } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { typedInstant } from "./rate_form_values.ts";
import { deletePath, NEW_RATE } from "./paths.ts";

/** A row, and what stands at its end. */
interface Shown {
  readonly row: RateRow;
  readonly last: Child;
}

/** A table of rows. */
export function RateTable(
  { label, rows, lastName }: {
    readonly label: string;
    readonly rows: readonly Shown[];
    readonly lastName: string;
  },
) {
  return (
    <Wide label={label}>
      <table class="named folding">
        <caption class="hidden">{label}, in dollars per million tokens</caption>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Provider</th>
            <th scope="col" class="number">Input $/M</th>
            <th scope="col" class="number">Output $/M</th>
            <th scope="col" class="number">Cached $/M</th>
            <th scope="col" class="number">Cache write $/M</th>
            <th scope="col">In force</th>
            <th scope="col">{lastName}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ row, last }) => (
            <tr>
              <th scope="row">
                {row.model}
                <Tiers row={row} />
              </th>
              <td class="words">{row.provider ?? "any"}</td>
              <RateCells rates={row.rates} />
              <td class="since" data-before="in force">
                {row.from === null ? "always" : `from ${typedInstant(row.from)}`}
              </td>
              <td class="words">{last}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

/** Rates in the order of the table, with what each is called where the table has no head. */
const RATES = [
  ["in", "input"],
  ["out", "output"],
  ["cached", "cachedInput"],
  ["cache write", "cacheWrite"],
] as const satisfies readonly (readonly [string, keyof Rates])[];

function RateCells({ rates }: { readonly rates: Rates }) {
  return (
    <>
      {RATES.map(([name, of]) => {
        const rate = rates[of];
        return (
          <td class="number" data-before={name}>
            {rate === null ? "as input" : usdPerMillion(rate)}
          </td>
        );
      })}
    </>
  );
}

function Tiers({ row: { tiers, batchPercent } }: { readonly row: RateRow }) {
  return (
    <>
      {batchPercent === undefined
        ? null
        : <div class="soft">in a batch: {batchPercent} % of these rates</div>}
      {tiers.map(({ aboveInputTokens, rates }) => (
        <div class="soft">
          above {formatCount(aboveInputTokens)} tokens: {usdPerMillion(rates.input)} in,{" "}
          {usdPerMillion(rates.output)} out
        </div>
      ))}
    </>
  );
}

/** What can be done with an own row, and where it is from. */
export function OwnActions(
  { rate, names, now }: {
    readonly rate: OwnRate;
    readonly names: ActorNames;
    readonly now: number;
  },
) {
  const { row, createdAt, createdBy, note } = rate;
  return (
    <>
      <a href={editPath(row)} aria-label={`Change ${row.model}`}>Change</a>{" "}
      <a href={deletePath(row.id)} aria-label={`Delete ${row.model}`}>Delete</a>
      <div class="soft">
        put <Ago at={createdAt} now={now} /> by{" "}
        <Actor id={createdBy} name={names.get(createdBy) ?? null} />
        {note === undefined ? null : <>: {note}</>}
      </div>
    </>
  );
}

/** The form, filled in from a row. */
export function editPath({ id }: RateRow): string {
  return NEW_RATE + queryText([["row", id]]);
}
