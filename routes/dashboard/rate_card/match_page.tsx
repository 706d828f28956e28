/** `/dashboard/rate-card/match`: the row that prices a model. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import type { MatchStep, RateMatch } from "../../../domain/pricing/rates.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import { type MatchQuery, parseMatchQuery } from "../../api/rate_card/rate_card.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Crumbs, InlineNotice } from "../components/elements.tsx";
import { type InputField, LabeledInputs } from "../components/form_fields.tsx";
import { editPath, MATCH, NEW_RATE } from "./paths.ts";
import { RateTable } from "./rate_table.tsx";

/** Shows the row that prices a call. */
export const showMatch: Handler = async (c, { rateCards, environment }) => {
  const text = queryOf(c);
  const parsed = parseQuery(text);
  if (!parsed.ok) return fail(c, parsed.problem);
  const parameters = parsed.value;
  const show = (problem: Problem | null, result: Child) =>
    showPage(c, {
      title: "Find the price of a model",
      crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH]]} />,
      problem,
      body: (
        <>
          <form method="get" action={MATCH} class="filters">
            <LabeledInputs
              fields={FIELDS}
              texts={Object.fromEntries(parameters)}
              problem={problem}
            />
            <button type="submit" class="btn">Look it up</button>
          </form>
          {result}
        </>
      ),
    });
  if (!parameters.has("model")) return show(null, null);
  const query = parseMatchQuery(text, environment.now());
  if (!query.ok) {
    c.set("problem", query.problem);
    return show(query.problem, null);
  }
  const { provider, model, at } = query.value;
  const rate = (await rateCards.card(c.get("principal").team)).find(provider, model, at);
  return show(null, <Match query={query.value} rate={rate} />);
};

const FIELDS: readonly InputField[] = [
  ["model", "Model, as a call names it", { required: true, placeholder: "" }],
  ["provider", "Provider, if it names one", { placeholder: "" }],
  ["at", "At this instant (empty: now)", { placeholder: "2026-01-31T12:00:00Z" }],
];

const STEP_LABELS: Readonly<Record<MatchStep, string>> = {
  exact: "its name as it was sent",
  provider_prefix: "its name without the provider before it",
  version_suffix: "its name without the date or version at its end",
  dots_to_dashes: "its name with dots as dashes",
};

function Match(
  { query: { provider, model, at }, rate }: {
    readonly query: MatchQuery;
    readonly rate: RateMatch | null;
  },
) {
  const name = provider === null ? model : `${model} of ${provider}`;
  if (rate === null) {
    return (
      <InlineNotice kind="warn">
        <p>
          No price for {name} at {formatInstant(at)}: its calls cost $0 and are listed as unpriced.
          {" "}
          <a href={NEW_RATE + queryText([["model", model], ["provider", provider]])}>
            Add a price
          </a>
        </p>
      </InlineNotice>
    );
  }
  const { row, match } = rate;
  return (
    <section>
      <p>
        Calls of {name} cost this {row.source === "own" ? "custom" : "default"}{" "}
        price. It was found by {STEP_LABELS[match]}.
      </p>
      <RateTable
        label="The price"
        rows={[{
          row,
          last: <a href={editPath(row)}>{row.source === "own" ? "Change" : "Set price"}</a>,
        }]}
      />
    </section>
  );
}
