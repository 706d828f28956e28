/** Why a call cost what it did: tokens times rate, and the row that priced it. */
import type { CallFlag, ExplainedCall } from "../../../domain/runs/explain_cost.ts";
import type { CostLine } from "../../../domain/pricing/price.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import type { MatchStep, RateMatch } from "../../../domain/pricing/rates.ts";
import { dayOf } from "../../../domain/core/time.ts";
import { Money, Wide } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { pricePath } from "./paths.ts";

const KINDS: Readonly<Record<CostLine["kind"], string>> = {
  input: "input",
  cached_input: "input read from a cache",
  cache_write: "input written to a cache",
  output: "output",
};

const STEPS: Readonly<Record<MatchStep, string>> = {
  exact: "by its exact name",
  provider_prefix: "by its name without the provider in front",
  version_suffix: "by its name without the version behind",
  dots_to_dashes: "by its name with dashes for dots",
};

const FLAGS: Readonly<Record<CallFlag, string>> = {
  cached_exceeds_input:
    "More tokens were cached than input, so they were taken as reported apart from it.",
  covered_by_stated_cost: "It counts nothing of its own: the run states what everything cost.",
};

/** Explains a call's cost. */
export function CallCost(
  { call, mayPrice }: { readonly call: ExplainedCall; readonly mayPrice: boolean },
) {
  return (
    <div class="call-cost">
      {call.lines.length === 0
        ? <WhyNothing call={call} mayPrice={mayPrice} />
        : <Lines call={call} />}
      {call.pricedBy === null ? null : <Row by={call.pricedBy} tier={call.tierAboveInputTokens} />}
      {call.flags.map((flag) => <p class="soft">{FLAGS[flag]}</p>)}
    </div>
  );
}

function Lines({ call: { lines, cost } }: { readonly call: ExplainedCall }) {
  return (
    <Wide label="What it cost">
      <table class="sum">
        <thead>
          <tr>
            <th scope="col">Tokens</th>
            <th scope="col" class="number">Count</th>
            <th scope="col" class="number">× $ per million</th>
            <th scope="col" class="number">= Cost</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr>
              <th scope="row">{KINDS[line.kind]}</th>
              <td class="number">{formatCount(line.tokens)}</td>
              <td class="number">{usdPerMillion(line.rate)}</td>
              <td class="number">
                <Money of={line.cost} />
              </td>
            </tr>
          ))}
        </tbody>
        {lines.length < 2 ? null : (
          <tfoot>
            <tr>
              <th scope="row" colspan={3}>Together</th>
              <td class="number">
                <Money of={cost} />
              </td>
            </tr>
          </tfoot>
        )}
      </table>
    </Wide>
  );
}

function Row(
  { by: { row, match, isBatch }, tier }: { readonly by: RateMatch; readonly tier: number | null },
) {
  const since = row.from === null ? "" : `, in force since ${dayOf(row.from)}`;
  return (
    <p class="soft">
      Priced by <code>{row.id}</code>,{" "}
      {row.source === "own" ? "the team's own row" : "a default row"}
      {since}, found {STEPS[match]}.{isBatch === true ? " These are its rates for a batch." : ""}
      {tier === null ? "" : ` These are its rates for more than ${formatCount(tier)} input tokens.`}
    </p>
  );
}

function WhyNothing(
  { call, mayPrice }: { readonly call: ExplainedCall; readonly mayPrice: boolean },
) {
  if (call.stated) {
    return (
      <p>
        The run states what it cost, so nothing was priced: <Money of={call.cost} />.
      </p>
    );
  }
  if (call.unpriced && call.model !== null) {
    return <UnpricedCall model={call.model} provider={call.provider} mayPrice={mayPrice} />;
  }
  if (call.flags.includes("covered_by_stated_cost") || call.pricedBy !== null) return null;
  return (
    <p class="soft">
      {call.counted
        ? "No cost: this call does not name its model."
        : "No cost: this call has no token counts."}
    </p>
  );
}

/** Says that a model has no price, and what to do about it. */
export function UnpricedCall(
  { model, provider, mayPrice }: {
    readonly model: string;
    readonly provider: string | null;
    readonly mayPrice: boolean;
  },
) {
  const name = provider === null ? model : `${provider}/${model}`;
  return (
    <p>
      ⚠ No price for <code>{name}</code> on the rate card, so it counts as $0.{" "}
      {mayPrice ? <a href={pricePath(model, provider)}>Add a price</a> : (
        <>
          Whoever has a key with the scope <code>admin</code> can add a price.
        </>
      )}
    </p>
  );
}
