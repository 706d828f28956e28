/** Models that were called and have no price: what is missing in the bill, and what to do. */
import type { EstimatedModel, Unpriced } from "../../../domain/spend/unpriced.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import type { SpendQuery } from "../../../domain/spend/spend_query.ts";
import { OTHER_MODELS } from "../../../domain/runs/model_usage.ts";
import { queryText } from "../layout/paths.ts";
import { Money, Wide } from "../components/elements.tsx";
import { compactText, formatCount, pluralOf } from "../components/format.ts";
import { NEW_RATE } from "../rate_card/paths.ts";
import { daySpan, dayText } from "./labels.ts";

/** Models that are listed, those with the most tokens. */
const MODELS_SHOWN = 10;

interface Banner {
  readonly unpriced: Unpriced;
  readonly query: SpendQuery;
  /** Whether whoever looks may put prices. */
  readonly mayPrice: boolean;
}

/** The models with calls, tokens and an estimate, each with the way to a price. */
export function UnpricedBanner({ unpriced, query, mayPrice }: Banner) {
  const { models, leftOut, estimateTotal } = unpriced;
  if (models.length === 0) return null;
  const all = models.length + leftOut;
  const unshown = all - Math.min(MODELS_SHOWN, models.length);
  return (
    <section id="unpriced" class="notice warn" aria-labelledby="unpriced-title">
      <h2 id="unpriced-title">
        {all === 1 ? "1 model has no price" : `${formatCount(all)} models have no price`}
      </h2>
      <p>
        {all === 1 ? "Its" : "Their"} calls {daySpan(query.from, query.to)}{" "}
        cost $0 here, so the bill is too low{estimateTotal === 0n ? "" : ", by about "}
        {estimateTotal === 0n ? null : <Money of={estimateTotal} />}
        . {mayPrice ? "Add a price, look at what it changes, then price the calls anew." : (
          <>
            To add a price, sign in with a key that has the scope <code>admin</code>.
          </>
        )}
      </p>
      <Wide label="Models without a price">
        <table class="named folding">
          <thead>
            <tr>
              <th scope="col">Model</th>
              {mayPrice ? <th scope="col">What to do</th> : null}
              <th scope="col" class="number">Calls</th>
              <th scope="col" class="number">Tokens in</th>
              <th scope="col" class="number">Out</th>
              <th scope="col">Estimate</th>
              <th scope="col">Seen</th>
            </tr>
          </thead>
          <tbody>
            {models.slice(0, MODELS_SHOWN).map((model) => (
              <ModelRow model={model} mayPrice={mayPrice} />
            ))}
          </tbody>
        </table>
      </Wide>
      {unshown === 0 ? null : (
        <p class="soft">
          And {formatCount(unshown)}{" "}
          more with fewer tokens: they are listed here once these have a price.
        </p>
      )}
    </section>
  );
}

function ModelRow(
  { model, mayPrice }: { readonly model: EstimatedModel; readonly mayPrice: boolean },
) {
  const { name, calls, inputTokens, outputTokens, estimate, firstSeen, lastSeen } = model;
  const title = modelKey(name);
  return (
    <tr>
      <th scope="row">{title}</th>
      {mayPrice
        ? (
          <td>
            {name.model === OTHER_MODELS ? "stands for many models" : (
              <a
                href={NEW_RATE + queryText(Object.entries({ ...name }))}
                role="button"
                class="small"
                aria-label={`Add a price for ${title}`}
              >
                Add a price
              </a>
            )}
          </td>
        )
        : null}
      <td class="number" data-unit={pluralOf(calls, "call")}>{formatCount(calls)}</td>
      <td class="number" data-unit="tokens in" title={formatCount(inputTokens)}>
        {compactText(inputTokens)}
      </td>
      <td class="number" data-unit="out" title={formatCount(outputTokens)}>
        {compactText(outputTokens)}
      </td>
      <td class="words">
        {estimate === null ? "no similar model" : (
          <>
            about <Money of={estimate.cost} />, as {modelKey(estimate.row)}
          </>
        )}
      </td>
      <td>
        {firstSeen === lastSeen
          ? dayText(firstSeen)
          : `${dayText(firstSeen)} to ${dayText(lastSeen)}`}
      </td>
    </tr>
  );
}
