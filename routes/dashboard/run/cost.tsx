/** The cost of a run by model, and of a call: tokens times rate, and the row that priced it. */
import {
  type CallFlag,
  costByModel,
  type ExplainedCall,
  type ModelCost,
} from "../../../domain/runs/explain_cost.ts";
import type { CostLine } from "../../../domain/pricing/price.ts";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";
import { dayOf } from "../../../domain/core/time.ts";
import { Money, Section } from "../components/elements.tsx";
import { exactMoneyText, formatCount } from "../components/format.ts";
import { type Column, countColumn, nameColumn, numberColumn, Table } from "../components/table.tsx";
import type { RunData } from "./run_load.ts";
import { addPath, pricePath } from "../rate_card/paths.ts";
import { MATCH_WORDS } from "../rate_card/prices_load.ts";

type CostProps = Pick<RunData, "page" | "ownCall" | "family" | "isAdmin">;

/** Shows the cost of a run, model by model. */
export function CostSection({ page, ownCall, family, isAdmin }: CostProps) {
  const lines = costByModel(page);
  const note = family.children.length > 0 && <span class="quiet">without child runs</span>;
  return (lines.length > 0 || ownCall !== null) && (
    <Section id="cost" title="Cost by model" aside={note}>
      {lines.length > 0 && (
        <Table label="Cost by model" class="fold" columns={MODEL_COLUMNS} rows={lines} />
      )}
      {lines.filter(({ priced }) =>
        priced === false
      ).map((line) => <UnpricedCall {...line} mayPrice={isAdmin} />)}
      {ownCall?.unpriced === false && <CallCost call={ownCall} mayPrice={isAdmin} />}
    </Section>
  );
}

const MODEL_COLUMNS: readonly Column<ModelCost>[] = [
  nameColumn("Model", ({ model, provider }) => `${model ?? "(no model)"} ${provider ?? ""}`.trim()),
  countColumn("Calls", ({ calls }) => calls, "call"),
  numberColumn("Input", ({ inputTokens }) => formatCount(inputTokens), "in"),
  numberColumn("Cached", ({ cachedInputTokens }) => formatCount(cachedInputTokens), "cached"),
  numberColumn("Output", ({ outputTokens }) => formatCount(outputTokens), "out"),
  numberColumn(
    "Cost",
    ({ priced, cost }) => priced ? <Money of={cost} /> : priced === null ? "no tokens" : "no price",
  ),
];

const KIND_LABELS: Readonly<Record<CostLine["kind"], string>> = {
  input: "input",
  cached_input: "input read from a cache",
  cache_write: "input written to a cache",
  output: "output",
};

const FLAG_LABELS: Readonly<Record<CallFlag, string>> = {
  cached_exceeds_input: "More tokens were cached than input, so they count in addition to it.",
  covered_by_stated_cost: "It costs nothing itself: the run states the cost of all calls.",
  covered_by_tokens: "It costs nothing itself: the tokens of the run's heartbeat are its cost.",
};

interface CallProps {
  readonly call: ExplainedCall;
  readonly mayPrice: boolean;
}

/** Explains the cost of a call. */
export function CallCost({ call, mayPrice }: CallProps) {
  const { lines, cost, flags } = call;
  const rows: readonly SumRow[] = lines.map((line) => ({ ...line, name: KIND_LABELS[line.kind] }));
  const total = lines.length > 1 ? [{ name: "Total", cost }] : [];
  return (
    <div class="call-cost">
      {lines.length === 0
        ? <NoCost call={call} mayPrice={mayPrice} />
        : <Table label="Cost" class="sum" columns={SUM_COLUMNS} rows={[...rows, ...total]} />}
      <PricedBy call={call} mayPrice={mayPrice} />
      {flags.map((flag) => <p class="soft">{FLAG_LABELS[flag]}</p>)}
    </div>
  );
}

type SumRow = Partial<CostLine> & Pick<CostLine, "cost"> & { readonly name: string };

const SUM_COLUMNS: readonly Column<SumRow>[] = [
  { head: "Tokens", isName: true, cell: ({ name }) => name },
  numberColumn("Count", ({ tokens }) => tokens === undefined ? "" : formatCount(tokens)),
  numberColumn("× $ per million", ({ rate }) => rate === undefined ? "" : usdPerMillion(rate)),
  numberColumn("= Cost", ({ cost }) => <Money of={cost} isExact />),
];

/** Names the row that priced a call; nothing if none did. */
function PricedBy({ call, mayPrice }: CallProps) {
  const { pricedBy, provider, model, ts, tierAboveInputTokens: tier } = call;
  if (pricedBy === null) return null;
  const { row, match, isBatch } = pricedBy;
  const id = <code>{row.id}</code>;
  return (
    <p class="soft">
      Priced by{" "}
      {mayPrice && model !== null ? <a href={pricePath({ provider, model }, ts)}>{id}</a> : id},
      {" "}
      {row.source === "own" ? "the team's own row" : "a default row"}
      {row.from !== null && `, in force since ${dayOf(row.from)}`}, found by {MATCH_WORDS[match]}.
      {isBatch === true && " These are its rates for a batch."}
      {tier !== null && ` These are its rates for more than ${formatCount(tier)} input tokens.`}
    </p>
  );
}

/** Says why a call has no lines; nothing if its flags or its row do. */
function NoCost({ call, mayPrice }: CallProps) {
  const { model, flags, pricedBy, cost, counted } = call;
  if (call.unpriced && model !== null) return <UnpricedCall {...call} mayPrice={mayPrice} />;
  if (call.stated) return <p>The run states its cost: {exactMoneyText(cost)}.</p>;
  if (pricedBy !== null || flags.some((flag) => flag.startsWith("covered_"))) return null;
  const reason = counted ? "does not name its model" : "has no token counts";
  return <p class="soft">No cost: this call {reason}.</p>;
}

type UnpricedProps = Pick<ExplainedCall, "model" | "provider"> & Pick<CallProps, "mayPrice">;

/** Shows that a model has no price, and how to add one. */
function UnpricedCall({ model, provider, mayPrice }: UnpricedProps) {
  const name = provider === null ? model : `${provider}/${model}`;
  return (
    <p>
      ⚠ No price for <code>{name}</code> on the rate card, so it counts as $0. {mayPrice
        ? <a href={addPath({ model: model ?? "", provider })}>Add a price</a>
        : "A key with the scope admin can add a price."}
    </p>
  );
}
