/** `/dashboard/rate-card`: the prices of models. */
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { type Parameters, parseQuery } from "../../../domain/core/query.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import type { OwnRate } from "../../../domain/pricing/rate_card.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import { type ModelName, OTHER_MODELS } from "../../../domain/runs/model_usage.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { teamKey } from "../../http/access.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
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
import { FilterForm, NextPage } from "../components/list_page.tsx";
import { type ActorNames, actorNames } from "../keys/labels.tsx";
import { Empty, Section } from "../components/elements.tsx";
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

/** Maximum custom prices listed; a search finds the others. */
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
  const used = parameters.size === 0 ? await readUsed(deps, team) : null;
  const names = await actorNames(deps, team, own.map(({ createdBy }) => createdBy));
  return showPage(c, {
    title: "Prices",
    aside: (
      <>
        <a class="btn" href={MATCH}>Find the price of a model</a>
        <a class="btn" href={REPRICE}>Reprice calls</a>
        <a class="btn main" href={NEW_RATE}>Set price</a>
      </>
    ),
    body: (
      <>
        <Search parameters={parameters} />
        {used !== null && <Used {...used} />}
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

const SOURCES = [["", "all prices"], ["own", "custom prices"], [
  "default",
  "default prices",
]] as const;

function Search({ parameters }: { readonly parameters: Parameters }) {
  return (
    <FilterForm action={RATE_CARD_PATH}>
      <LabeledInput name="model" label="Model has" value={parameters.get("model") ?? ""} />
      <LabeledInput name="provider" label="Provider" value={parameters.get("provider") ?? ""} />
      <LabeledSelect
        name="source"
        label="Show"
        value={parameters.get("source") ?? ""}
        options={SOURCES}
      />
    </FilterForm>
  );
}

/** Days of calls whose models are listed, and maximum models and roll-up rows of them. */
const USED_DAYS = 30, USED_SHOWN = 20, USED_ROWS_READ = 2_000;

/** Reads the prices of the models that the team calls most, and the models without a price. */
async function readUsed({ spend, rateCards, environment }: AppDeps, team: Team) {
  const nowMs = environment.now();
  const calls = new Map<string, { readonly name: ModelName; readonly count: number }>();
  let remaining = USED_ROWS_READ;
  const days = [dayOf(nowMs - (USED_DAYS - 1) * DAY_MS), dayOf(nowMs)] as const;
  for await (const rows of spend.rows(team, "model", ...days)) {
    for (const { group, measures } of rows.slice(0, remaining)) {
      if (group.kind !== "model" || group.value.model === OTHER_MODELS) continue;
      const id = modelKey(group.value);
      const count = (calls.get(id)?.count ?? 0) + measures.events;
      calls.set(id, { name: group.value, count });
    }
    remaining -= rows.length;
    if (remaining <= 0) break;
  }
  const card = await rateCards.card(team);
  const most = [...calls.values()].sort((a, b) => b.count - a.count).slice(0, USED_SHOWN);
  const found = most.map(({ name }) => ({
    name,
    row: card.find(name.provider, name.model, nowMs)?.row ?? null,
  }));
  const rows = found.flatMap(({ row }) => row === null ? [] : [row]);
  return {
    rows: [...new Map(rows.map((row) => [row.id, row])).values()],
    unpriced: found.flatMap(({ name, row }) => row === null ? [name] : []),
  };
}

type UsedProps = Awaited<ReturnType<typeof readUsed>>;

/** Prices of the models that the team calls; nothing without calls. */
function Used({ rows, unpriced }: UsedProps) {
  if (rows.length + unpriced.length === 0) return null;
  return (
    <Section title="Models you use">
      {unpriced.map((name) => (
        <p class="more">
          <b>{modelKey(name)}</b> has no price, so its calls cost $0.{" "}
          <a href={NEW_RATE + queryText(Object.entries(name))}>Set price</a>
        </p>
      ))}
      {rows.length > 0 && (
        <RateTable
          label="Models you use"
          rows={rows.map((row) => ({ row, last: <SetPrice row={row} /> }))}
        />
      )}
    </Section>
  );
}

function SetPrice({ row }: { readonly row: RateRow }) {
  return <a href={editPath(row)} aria-label={`Set price of ${row.model}`}>Set price</a>;
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
    <Section title="Custom prices">
      {rates.length > 0
        ? (
          <RateTable
            label="Custom prices"
            rows={rates.map((rate) => ({
              row: rate.row,
              last: <OwnActions rate={rate} names={names} now={now} />,
            }))}
          />
        )
        : parameters.has("model") || parameters.has("provider")
        ? <p>No custom price matches.</p>
        : (
          <Empty title="No custom prices">
            <p>
              Calls cost the default prices below. Set a price where you pay another one, or where a
              model has none: custom prices come first.
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
    <Section title="Default prices">
      <p class="soft">
        {formatCount(DEFAULT_RATES.rows.length)} prices that came with the service, from{" "}
        {DEFAULT_RATES.generatedFrom}.
      </p>
      {defaults.length === 0 ? <p>No default price matches.</p> : (
        <RateTable
          label="Default prices"
          rows={defaults.map((row) => ({
            row,
            last: <SetPrice row={row} />,
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
    title: "Delete this price?",
    body: (
      <form method="post" action={deletePath(rate.row.id)}>
        <RateTable
          label="The price"
          lastName="Note"
          rows={[{ row: rate.row, last: rate.note ?? "" }]}
        />
        <p>
          New calls of this model cost its other price, or $0 without one. Stored costs do not
          change until you reprice them.
        </p>
        <div class="actions">
          <button type="submit" class="btn main">Delete price</button>
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
