/** `/dashboard/rate-card`: what calls of models cost. */
import { parseQuery } from "../../../domain/core/query.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import type { OwnRate } from "../../../domain/pricing/rate_store.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { parseListQuery, type RatePage, ratePage } from "../../api/rate_card/rate_card.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { type ActorNames, actorNames } from "../keys/actor.tsx";
import { Empty, NextPage } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { MATCH, NEW_RATE, REPRICE } from "./paths.ts";
import { editPath, OwnActions, RateTable } from "./rate_table.tsx";

/** Default rows of a page that does not say how many. */
const ROWS_DEFAULT = 50;

/** Own rows that are listed; a search finds the others. */
const OWN_SHOWN = 100;

type Sent = ReadonlyMap<string, string>;

/** Shows a page of the card. */
export function showRateCard(deps: AppDeps): Handle {
  return async (c) => {
    const text = queryOf(c);
    const parameters = parseQuery(text);
    if (!parameters.ok) return fail(c, parameters.problem);
    // Of repeated parameters the first counts.
    const query = parseListQuery(`${text}&limit=${ROWS_DEFAULT}`);
    if (!query.ok) return fail(c, query.problem);
    const { team } = c.get("principal");
    const page = await ratePage(deps, team, query.value);
    const sent = parameters.value;
    const isOwnShown = !sent.has("cursor") && sent.get("source") !== "default";
    const own = isOwnShown ? page.own.slice(0, OWN_SHOWN) : [];
    const names = await actorNames(deps, team, own.map(({ createdBy }) => createdBy));
    return showPage(c, {
      title: "Rate card",
      aside: (
        <nav class="choices" aria-label="Rate card">
          <ul>
            <li>
              <a href={NEW_RATE} role="button" class="small">Put a price</a>
            </li>
            <li>
              <a href={MATCH}>Which row prices a model</a>
            </li>
            <li>
              <a href={REPRICE}>Price calls anew</a>
            </li>
          </ul>
        </nav>
      ),
      body: (
        <>
          <Search sent={sent} />
          {isOwnShown
            ? (
              <Own
                shown={own}
                more={page.own.length - own.length}
                {...{ names, sent }}
                now={deps.environment.now()}
              />
            )
            : null}
          {sent.get("source") === "own" ? null : <Defaults page={page} sent={sent} />}
        </>
      ),
    });
  };
}

const SOURCES = [["", "all rows"], ["own", "own rows"], ["default", "default rows"]] as const;

function Search({ sent }: { readonly sent: Sent }) {
  return (
    <form method="get" action={RATE_CARD_PATH} class="filters" aria-label="Search">
      <label>
        Model has
        <input type="text" name="model" value={sent.get("model") ?? ""} />
      </label>
      <label>
        Provider
        <input type="text" name="provider" value={sent.get("provider") ?? ""} />
      </label>
      <label>
        Rows
        <select name="source">
          {SOURCES.map(([source, name]) => (
            <option value={source} selected={(sent.get("source") ?? "") === source}>{name}</option>
          ))}
        </select>
      </label>
      <button type="submit">Search</button>
    </form>
  );
}

function isFiltered(sent: Sent): boolean {
  return sent.has("model") || sent.has("provider");
}

function Own(
  { shown, more, names, sent, now }: {
    readonly shown: readonly OwnRate[];
    /** How many there are besides. */
    readonly more: number;
    readonly names: ActorNames;
    readonly sent: Sent;
    readonly now: number;
  },
) {
  return (
    <section>
      <h2>Your own rows</h2>
      {shown.length > 0
        ? (
          <RateTable
            label="Own rows"
            lastName="What to do"
            rows={shown.map((rate) => ({
              row: rate.row,
              last: <OwnActions rate={rate} names={names} now={now} />,
            }))}
          />
        )
        : isFiltered(sent)
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

function Defaults({ page, sent }: { readonly page: RatePage; readonly sent: Sent }) {
  const { defaults, cursor } = page;
  const next = cursor === null ? null : RATE_CARD_PATH + queryText(
    [...sent].filter(([name]) => name !== "cursor").concat([
      ["cursor", cursor],
    ]),
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
