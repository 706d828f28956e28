/** The cost of a call: tokens times rate, and the row that priced it. */
import type { CallFlag, ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import type { CostLine } from "../../../domain/pricing/price.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { MatchStep, RateMatch } from "../../../domain/pricing/rates.ts";
import { dayOf } from "../../../domain/core/time.ts";
import { Money } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { type Column, numberColumn, Table } from "../components/table.tsx";
import { pricePath } from "./paths.ts";

const KIND_LABELS: Readonly<Record<CostLine["kind"], string>> = {
  input: "input",
  cached_input: "input read from a cache",
  cache_write: "input written to a cache",
  output: "output",
};

const STEP_LABELS: Readonly<Record<MatchStep, string>> = {
  exact: "by its exact name",
  provider_prefix: "by its name without the provider before it",
  version_suffix: "by its name without the version after it",
  dots_to_dashes: "by its name with dashes for dots",
};

const FLAG_LABELS: Readonly<Record<CallFlag, string>> = {
  cached_exceeds_input:
    "More tokens were cached than input, so they were taken as reported apart from it.",
  covered_by_stated_cost: "It counts nothing of its own: the run states what everything cost.",
  covered_by_tokens:
    "It counts nothing of its own: the tokens of the run's heartbeat are its cost.",
};

interface CallProps {
  readonly call: ExplainedCall;
  readonly mayPrice: boolean;
}

export function CallCost({ call, mayPrice }: CallProps) {
  return (
    <div class="call-cost">
      {call.lines.length === 0 ? <NoCost call={call} mayPrice={mayPrice} /> : <Lines {...call} />}
      {call.pricedBy !== null && <Row {...call.pricedBy} tier={call.tierAboveInputTokens} />}
      {call.flags.map((flag) => <p class="soft">{FLAG_LABELS[flag]}</p>)}
    </div>
  );
}

const LINE_COLUMNS: readonly Column<CostLine>[] = [
  { head: "Tokens", isName: true, cell: ({ kind }) => KIND_LABELS[kind] },
  numberColumn("Count", ({ tokens }) => formatCount(tokens)),
  numberColumn("× $ per million", ({ rate }) => usdPerMillion(rate)),
  numberColumn("= Cost", ({ cost }) => <Money of={cost} isExact />),
];

function Lines({ lines, cost }: ExplainedCall) {
  return (
    <Table label="What it cost" class="sum" columns={LINE_COLUMNS} rows={lines}>
      {lines.length > 1 && (
        <tfoot>
          <tr>
            <th scope="row" colspan={3}>Together</th>
            <td class="number">
              <Money of={cost} isExact />
            </td>
          </tr>
        </tfoot>
      )}
    </Table>
  );
}

function Row({ row, match, isBatch, tier }: RateMatch & { readonly tier: number | null }) {
  const since = row.from === null ? "" : `, in force since ${dayOf(row.from)}`;
  return (
    <p class="soft">
      Priced by <code>{row.id}</code>,{" "}
      {row.source === "own" ? "the team's own row" : "a default row"}
      {since}, found{" "}
      {STEP_LABELS[match]}.{isBatch === true ? " These are its rates for a batch." : ""}
      {tier === null ? "" : ` These are its rates for more than ${formatCount(tier)} input tokens.`}
    </p>
  );
}

function NoCost({ call, mayPrice }: CallProps) {
  if (call.stated) {
    return (
      <p>
        The run states what it cost, so nothing was priced: <Money of={call.cost} isExact />.
      </p>
    );
  }
  if (call.unpriced && call.model !== null) {
    return <UnpricedCall {...call} mayPrice={mayPrice} />;
  }
  const isCovered = call.flags.some((flag) => flag.startsWith("covered_"));
  if (isCovered || call.pricedBy !== null) return null;
  const reason = call.counted ? "does not name its model" : "has no token counts";
  return <p class="soft">No cost: this call {reason}.</p>;
}

type UnpricedProps = Pick<ExplainedCall, "model" | "provider"> & Pick<CallProps, "mayPrice">;

/** Shows that a model has no price, and how to add one. */
export function UnpricedCall({ model, provider, mayPrice }: UnpricedProps) {
  const name = provider === null ? model : `${provider}/${model}`;
  return (
    <p>
      ⚠ No price for <code>{name}</code> on the rate card, so it counts as $0.{" "}
      {mayPrice ? <a href={pricePath(model ?? "", provider)}>Add a price</a> : (
        <>
          A key with the scope <code>admin</code> can add a price.
        </>
      )}
    </p>
  );
}
