/**
 * Banner of the models whose calls cost 0, with an estimate and what to do.
 */
import type { EstimatedModel, Unpriced } from "../../../domain/spend/unpriced.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import { OTHER_MODELS } from "../../../domain/runs/model_usage.ts";
import { queryText } from "../layout/paths.ts";
import { Money } from "../components/elements.tsx";
import { type Column, countColumn, Table } from "../components/table.tsx";
import { formatCount } from "../components/format.ts";
import { NEW_RATE } from "../rate_card/paths.ts";
import { daySpan, dayText } from "./labels.ts";
import { tokenColumn } from "./tables.tsx";

/** Maximum models listed, by descending tokens. */
const MODELS_SHOWN = 10;

interface BannerProps {
  readonly unpriced: Unpriced;
  readonly query: SpendQuery;
  /** True if the session may add prices. */
  readonly mayPrice: boolean;
}

/** Lists the models with their calls, tokens and estimate. */
export function UnpricedBanner({ unpriced, query, mayPrice }: BannerProps) {
  const { models, leftOut, estimateTotal } = unpriced;
  if (models.length === 0) return null;
  const all = models.length + leftOut;
  const unshown = all - Math.min(MODELS_SHOWN, models.length);
  const hasUncounted = models.some(({ reason }) => reason === "no_tokens");
  const lacks = hasUncounted
    ? models.every(({ reason }) => reason === "no_tokens")
      ? "calls without token counts"
      : "calls without a price or without token counts"
    : "no price";
  return (
    <section id="unpriced" class="notice warn" aria-labelledby="unpriced-title">
      <h2 id="unpriced-title">
        {all === 1 ? "1 model has" : `${formatCount(all)} models have`} {lacks}
      </h2>
      <p>
        {all === 1 ? "Its" : "Their"} calls {daySpan(query.from, query.to)}{" "}
        cost $0 here, so the bill is too low{estimateTotal === 0n ? "" : ", by about "}
        {estimateTotal === 0n ? null : <Money of={estimateTotal} />}
        . {mayPrice ? "Add a price, look at what it changes, then reprice the calls." : (
          <>
            To add a price, sign in with a key that has the scope <code>admin</code>.
          </>
        )}
        {hasUncounted &&
          " Calls without token counts cannot be priced later: send the provider's usage with each call."}
      </p>
      <Table
        label="Models without a price"
        class="fold named"
        columns={mayPrice ? [NAME, ACTION, ...METRICS] : [NAME, ...METRICS]}
        rows={models.slice(0, MODELS_SHOWN)}
      />
      {unshown === 0 ? null : (
        <p class="soft">
          And {formatCount(unshown)}{" "}
          more with fewer tokens: they are listed here once these have a price.
        </p>
      )}
    </section>
  );
}

const NAME: Column<EstimatedModel> = {
  head: "Model",
  isName: true,
  cell: ({ name }) => modelKey(name),
};

const ACTION: Column<EstimatedModel> = {
  head: "What to do",
  cell: ({ name, reason }) =>
    reason === "no_tokens"
      ? "send token counts"
      : name.model === OTHER_MODELS
      ? "stands for many models"
      : (
        <a
          href={NEW_RATE + queryText(Object.entries({ ...name }))}
          class="btn small"
          aria-label={`Add a price for ${modelKey(name)}`}
        >
          Add a price
        </a>
      ),
};

const METRICS: readonly Column<EstimatedModel>[] = [
  countColumn("Calls", ({ calls }) => calls, "call"),
  tokenColumn("Tokens in", "tokens in", ({ inputTokens }) => inputTokens),
  tokenColumn("Out", "out", ({ outputTokens }) => outputTokens),
  {
    head: "Estimate",
    class: "words",
    cell: ({ estimate: of, reason }) =>
      of === null ? reason === "no_tokens" ? "no token counts" : "no similar model" : (
        <>
          about <Money of={of.cost} />, as {modelKey(of.row)}
        </>
      ),
  },
  {
    head: "Seen",
    cell: ({ firstSeen, lastSeen }) =>
      firstSeen === lastSeen ? dayText(firstSeen) : `${dayText(firstSeen)} to ${dayText(lastSeen)}`,
  },
];
