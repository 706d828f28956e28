/** `/dashboard/rate-card`: the prices of models. */
import { type Parameters, parseQuery } from "../../../domain/core/query.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import { queryOf } from "../../http/query.ts";
import {
  NO_SUCH_ROW,
  parseListQuery,
  type RatePage,
  ratePage,
} from "../../api/rate_card/rate_card.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { type ActorNames, actorNames } from "../keys/labels.tsx";
import { Empty, NextPage, Section } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { LabeledInput, LabeledSelect } from "../components/form_fields.tsx";
import { showJob } from "./job_page.tsx";
import { showMatch } from "./match_page.tsx";
import { deletePath, editPath, MATCH, NEW_RATE, REPRICE, repricePath } from "./paths.ts";
import { showRateForm, submitRate } from "./rate_form.tsx";
import { showReprices, submitReprice } from "./reprice_page.tsx";
import { OwnActions, RateTable } from "./rate_table.tsx";

/** Default rows per page. */
const ROWS_DEFAULT = 50;

/** Maximum own rows listed; a search finds the others. */
const OWN_SHOWN = 100;

const showRateCard: Handler = async (c, deps) => {
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
    title: "Prices",
    aside: (
      <>
        <a class="btn" href={MATCH}>Which row prices a model</a>
        <a class="btn" href={REPRICE}>Reprice calls</a>
        <a class="btn main" href={NEW_RATE}>Put a price</a>
      </>
    ),
    body: (
      <>
        <Search parameters={parameters} />
        {isOwnShown && (
          <Own
            rates={own}
            more={page.own.length - own.length}
            {...{ names, parameters }}
            now={deps.environment.now()}
          />
        )}
        {parameters.get("source") !== "own" && <Defaults page={page} parameters={parameters} />}
      </>
    ),
  });
};

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
      <button type="submit" class="btn">Search</button>
    </form>
  );
}

interface OwnProps {
  readonly rates: readonly OwnRate[];
  /** Number of own rows that are not listed. */
  readonly more: number;
  readonly names: ActorNames;
  readonly parameters: Parameters;
  readonly now: number;
}

function Own({ rates, more, names, parameters, now }: OwnProps) {
  return (
    <Section title="Your own rows">
      {rates.length > 0
        ? (
          <RateTable
            label="Own rows"
            rows={rates.map((rate) => ({
              row: rate.row,
              last: <OwnActions rate={rate} names={names} now={now} />,
            }))}
          />
        )
        : parameters.has("model") || parameters.has("provider")
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
    </Section>
  );
}

function Defaults(
  { page: { defaults, cursor }, parameters }: {
    readonly page: RatePage;
    readonly parameters: Parameters;
  },
) {
  const next = cursor === null ? null : RATE_CARD_PATH + queryText(
    [...parameters].filter(([name]) => name !== "cursor").concat([["cursor", cursor]]),
  );
  return (
    <Section title="Default rows">
      <p class="soft">
        {formatCount(DEFAULT_RATES.rows.length)} prices that came with the service, from{" "}
        {DEFAULT_RATES.generatedFrom}.
      </p>
      {defaults.length === 0 ? <p>No default row passes the search.</p> : (
        <RateTable
          label="Default rows"
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
    </Section>
  );
}

/** Shows an own row and asks for confirmation to delete it. */
const confirmDeletion: Handler = async (c, { rateCards }) => {
  const rates = await rateCards.rows(c.get("principal").team);
  const rate = rates.find(({ row }) => row.id === c.req.param("id"));
  if (rate === undefined) return fail(c, NO_SUCH_ROW);
  return showPage(c, {
    title: "Delete an own row?",
    body: (
      <form method="post" action={deletePath(rate.row.id)}>
        <RateTable
          label="The row"
          lastName="Note"
          rows={[{ row: rate.row, last: rate.note ?? "" }]}
        />
        <p>
          Calls that come in from now on are priced by what else the card has for this model, or
          cost $0. What is stored stays as it is until it is repriced.
        </p>
        <div class="actions">
          <button type="submit" class="btn main">Delete the row</button>
          <a href={RATE_CARD_PATH} class="btn">Keep it</a>
        </div>
      </form>
    ),
  });
};

/** Deletes the row and redirects to the form that reprices its calls. */
const submitDeletion: Handler = async (c, { rateCards }) => {
  const { team, credentialId } = c.get("principal");
  const deleted = await rateCards.delete(team, c.req.param("id") ?? "", credentialId);
  if (deleted === null) return fail(c, NO_SUCH_ROW);
  return seeOther(repricePath({ model: deleted.row.model, provider: null }, "deleted"));
};

/** The rate card, its forms, and the pages that reprice calls. */
export const rateCardPage: DashboardPage = {
  path: RATE_CARD_PATH,
  menu: { name: "Prices", area: "settings" },
  access: teamKey("admin"),
  handler: showRateCard,
  routes: [
    post(RATE_CARD_PATH, submitRate),
    get(MATCH, showMatch),
    get(NEW_RATE, showRateForm),
    get(`${RATE_CARD_PATH}/rows/:id/delete`, confirmDeletion),
    post(`${RATE_CARD_PATH}/rows/:id/delete`, submitDeletion),
    get(REPRICE, showReprices),
    post(REPRICE, submitReprice),
    get(`${REPRICE}/:id`, showJob),
  ],
};
