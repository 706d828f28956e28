/** `/dashboard/rate-card/match`: which row prices a model. */
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import type { MatchStep, RateMatch } from "../../../domain/pricing/rates.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { type MatchQuery, parseMatchQuery } from "../../api/rate_card/rate_card.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { InlineNotice } from "../components/elements.tsx";
import { MATCH, NEW_RATE } from "./paths.ts";
import { editPath, RateTable } from "./rate_table.tsx";

type Sent = ReadonlyMap<string, string>;

/** Shows which row prices a call. */
export function showMatch({ rateCards, environment }: AppDeps): Handle {
  return async (c) => {
    const text = queryOf(c);
    const parameters = parseQuery(text);
    if (!parameters.ok) return fail(c, parameters.problem);
    const sent = parameters.value;
    const aside = <a href={RATE_CARD_PATH}>Rate card</a>;
    const title = "Which row prices a model";
    if (!sent.has("model")) {
      return showPage(c, { title, aside, body: <Form sent={sent} problem={null} /> });
    }
    const query = parseMatchQuery(text, environment.now());
    if (!query.ok) {
      c.set("problem", query.problem);
      const { status } = ERRORS[query.problem.code];
      return showPage(c, {
        title,
        aside,
        status,
        body: <Form sent={sent} problem={query.problem} />,
      });
    }
    const { provider, model, at } = query.value;
    const found = (await rateCards.card(c.get("principal").team)).find(provider, model, at);
    const body = (
      <>
        <Form sent={sent} problem={null} />
        <Found query={query.value} found={found} />
      </>
    );
    return showPage(c, { title, aside, body });
  };
}

const FIELDS = [
  ["model", "Model, as a call names it"],
  ["provider", "Provider, if it names one"],
  ["at", "At this instant (empty: now)"],
] as const;

function Form({ sent, problem }: { readonly sent: Sent; readonly problem: Problem | null }) {
  return (
    <form method="get" action={MATCH} class="filters">
      {FIELDS.map(([name, label]) => {
        const isWrong = problem?.field === name;
        return (
          <label>
            {label}
            <input
              type="text"
              name={name}
              value={sent.get(name) ?? ""}
              required={name === "model"}
              placeholder={name === "at" ? "2026-01-31T12:00:00Z" : ""}
              {...(isWrong
                ? { "aria-invalid": "true", "aria-describedby": `${name}-problem` }
                : {})}
            />
            {isWrong ? <small id={`${name}-problem`}>{problem.message}.</small> : null}
          </label>
        );
      })}
      <button type="submit">Look it up</button>
    </form>
  );
}

const STEPS: Readonly<Record<MatchStep, string>> = {
  exact: "its name as it was sent",
  provider_prefix: "its name without what stands before it",
  version_suffix: "its name without the date or version at its end",
  dots_to_dashes: "its name with dots as dashes",
};

function Found(
  { query: { provider, model, at }, found }: {
    readonly query: MatchQuery;
    readonly found: RateMatch | null;
  },
) {
  const name = provider === null ? model : `${model} of ${provider}`;
  if (found === null) {
    return (
      <InlineNotice kind="warn">
        <p>
          No row prices {name} at {formatInstant(at)}: its calls cost $0 and are listed as unpriced.
          {" "}
          <a href={NEW_RATE + queryText([["model", model], ["provider", provider]])}>
            Add a price
          </a>
        </p>
      </InlineNotice>
    );
  }
  const { row, match } = found;
  return (
    <section>
      <p>
        Calls of {name} cost what this {row.source === "own" ? "own row" : "default row"}{" "}
        says. It was found by {STEPS[match]}.
      </p>
      <RateTable
        label="The row that prices it"
        lastName="What to do"
        rows={[{
          row,
          last: <a href={editPath(row)}>{row.source === "own" ? "Change" : "Put an own price"}</a>,
        }]}
      />
    </section>
  );
}
