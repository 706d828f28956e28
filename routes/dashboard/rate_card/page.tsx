/** `/dashboard/rate-card`: the prices of models. */
import { parseQuery } from "../../../domain/core/query.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { parseListQuery, type RatePage, ratePage } from "../../api/rate_card/rate_card.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { type ActorNames, actorNames } from "../keys/actor.tsx";
import { Empty, NextPage } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { Choices } from "../components/choices.tsx";
import { LabeledInput, LabeledSelect } from "../components/form_fields.tsx";
import { askDeleteRate, submitDeleteRate } from "./delete_page.tsx";
import { showJob } from "./job_page.tsx";
import { showMatch } from "./match_page.tsx";
import { MATCH, NEW_RATE, REPRICE } from "./paths.ts";
import { showRateForm, submitRate } from "./rate_form.tsx";
import { showReprices, submitReprice } from "./reprice_page.tsx";
import { editPath, OwnActions, RateTable } from "./rate_table.tsx";

/** The rate card, its forms, and the pages that reprice calls. */
export const rateCardPage: DashboardPage = {
  path: RATE_CARD_PATH,
  menu: "Rate card",
  access: teamKey("admin"),
  handler: showRateCard,
  routes: [
    post(RATE_CARD_PATH, submitRate),
    get(MATCH, showMatch),
    get(NEW_RATE, showRateForm),
    get(`${RATE_CARD_PATH}/rows/:id/delete`, askDeleteRate),
    post(`${RATE_CARD_PATH}/rows/:id/delete`, submitDeleteRate),
    get(REPRICE, showReprices),
    post(REPRICE, submitReprice),
    get(`${REPRICE}/:id`, showJob),
  ],
};

/** Default rows per page. */
const ROWS_DEFAULT = 50;

/** Maximum own rows listed; a search finds the others. */
const OWN_SHOWN = 100;

type Parameters = ReadonlyMap<string, string>;

function showRateCard(deps: AppDeps): Handle {
  return async (c) => {
    const text = queryOf(c);
    const parsed = parseQuery(text);
    if (!parsed.ok) return fail(c, parsed.problem);
    // The first of repeated parameters wins.
    const query = parseListQuery(`${text}&limit=${ROWS_DEFAULT}`);
    if (!query.ok) return fail(c, query.problem);
    const { team } = c.get("principal");
    const page = await ratePage(deps, team, query.value);
    const parameters = parsed.value;
    const isOwnShown = !parameters.has("cursor") && parameters.get("source") !== "default";
    const own = isOwnShown ? page.own.slice(0, OWN_SHOWN) : [];
    const names = await actorNames(deps, team, own.map(({ createdBy }) => createdBy));
    return showPage(c, {
      title: "Rate card",
      aside: (
        <Choices
          label="Rate card"
          links={[
            { name: "Put a price", to: NEW_RATE, isButton: true },
            { name: "Which row prices a model", to: MATCH },
            { name: "Reprice calls", to: REPRICE },
          ]}
        />
      ),
      body: (
        <>
          <Search parameters={parameters} />
          {isOwnShown
            ? (
              <Own
                rates={own}
                more={page.own.length - own.length}
                {...{ names, parameters }}
                now={deps.environment.now()}
              />
            )
            : null}
          {parameters.get("source") === "own"
            ? null
            : <Defaults page={page} parameters={parameters} />}
        </>
      ),
    });
  };
}

const SOURCES = [["", "all rows"], ["own", "own rows"], ["default", "default rows"]] as const;

function Search({ parameters }: { readonly parameters: Parameters }) {
  return (
    <form method="get" action={RATE_CARD_PATH} class="filters" aria-label="Search">
      <LabeledInput name="model" label="Model has" value={parameters.get("model") ?? ""} />
      <LabeledInput name="provider" label="Provider" value={parameters.get("provider") ?? ""} />
      <LabeledSelect
        name="source"
        label="Rows"
        value={parameters.get("source") ?? ""}
        options={SOURCES}
      />
      <button type="submit">Search</button>
    </form>
  );
}

function isFiltered(parameters: Parameters): boolean {
  return parameters.has("model") || parameters.has("provider");
}

function Own(
  { rates, more, names, parameters, now }: {
    readonly rates: readonly OwnRate[];
    /** Number of own rows that are not listed. */
    readonly more: number;
    readonly names: ActorNames;
    readonly parameters: Parameters;
    readonly now: number;
  },
) {
  return (
    <section>
      <h2>Your own rows</h2>
      {rates.length > 0
        ? (
          <RateTable
            label="Own rows"
            lastName="What to do"
            rows={rates.map((rate) => ({
              row: rate.row,
              last: <OwnActions rate={rate} names={names} now={now} />,
            }))}
          />
        )
        : isFiltered(parameters)
        ? <p>No own row passes the search.</p>
        : (
          <Empty title="No own rows">
            <p>
              Calls cost what the default rows below say. Put a price where you pay another one, or
              where a model has none: own rows go before default ones.
            </p>
          </Empty>
        )}
      {more === 0 ? null : <p class="soft">{formatCount(more)} more: search to see them.</p>}
    </section>
  );
}

function Defaults(
  { page, parameters }: { readonly page: RatePage; readonly parameters: Parameters },
) {
  const { defaults, cursor } = page;
  const next = cursor === null ? null : RATE_CARD_PATH + queryText(
    [...parameters].filter(([name]) => name !== "cursor").concat([["cursor", cursor]]),
  );
  return (
    <section>
      <h2>Default rows</h2>
      <p class="soft">
        {formatCount(DEFAULT_RATES.rows.length)} prices that came with the service, from{" "}
        {DEFAULT_RATES.generatedFrom}.
      </p>
      {defaults.length === 0 ? <p>No default row passes the search.</p> : (
        <RateTable
          label="Default rows"
          lastName="What to do"
          rows={defaults.map((row) => ({
            row,
            last: (
              <a href={editPath(row)} aria-label={`Put an own price for ${row.model}`}>
                Put an own price
              </a>
            ),
          }))}
        />
      )}
      <NextPage to={next} />
    </section>
  );
}
