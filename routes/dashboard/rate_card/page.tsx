/** `/dashboard/rate-card`: the prices of models. */
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import type { RateRow, Rates } from "../../../domain/pricing/rates.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { teamKey } from "../../http/access.ts";
import { queryOf } from "../../http/query.ts";
import { parseListQuery, parseMatchQuery } from "../../api/rate_card/rate_card.ts";
import { type DashboardPage, get, type PageHandler, post } from "../layout/page.tsx";
import { RATE_CARD_PATH } from "../layout/paths.ts";
import { At, InlineNotice } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { formOf } from "../components/form_fields.tsx";
import {
  type Column,
  column,
  FilterForm,
  nameColumn,
  NextPage,
  nextPath,
  tableSection,
} from "../components/table.tsx";
import { Actor } from "../keys/labels.tsx";
import { showJob, showReprices, submitReprice } from "./reprice.tsx";
import { addPath, editPath, NEW_RATE, REPRICE } from "./paths.ts";
import { loadPrices, MATCH_WORDS, type Prices } from "./prices_load.ts";
import { momentText, showRateForm, submitDeletion, submitRate } from "./rate_form.tsx";
import type { Child } from "hono/jsx";
import { usdPerMillion } from "../../../domain/pricing/rate_body.ts";

/** Default rows per page. */
const ROWS_DEFAULT = 50;

const SOURCES = [["", "all prices"], ["own", "custom ones"], ["default", "default ones"]] as const;

const NO_OWN = "No custom prices. Calls cost the default prices below. Set a price where you pay " +
  "another one, or where a model has none: custom prices come first.";

const ORIGIN = `${formatCount(DEFAULT_RATES.rows.length)} prices that came with the service, ` +
  `from ${DEFAULT_RATES.generatedFrom}.`;

const showRateCard: PageHandler = async ({ c, deps, team }) => {
  const { model = "", provider = "", source = "", at = "", cursor = "" } = c.req.query();
  const filters = { model, provider, source, at };
  const isFiltered = Object.values(filters).join(cursor) !== "";
  // The first of repeated parameters wins.
  const list = parseListQuery(`${queryOf(c)}&limit=${ROWS_DEFAULT}`);
  const call = model === "" ? null : parseMatchQuery(queryOf(c), deps.environment.now());
  const prices = await loadPrices({ deps, team }, list, call, isFiltered);
  const { own, unshown, used, defaults } = prices;
  const { text, choice } = formOf(filters, null);
  return {
    title: "Prices",
    aside: [
      <a class="btn" href={REPRICE}>Reprice calls</a>,
      <a class="btn main" href={NEW_RATE}>Set price</a>,
    ],
    body: [
      <FilterForm action={RATE_CARD_PATH}>
        {text("model", "Model", { hint: "A name as calls send it, or a part of it." })}
        {text("provider", "Provider")}
        {text("at", "At (UTC)", { placeholder: "2026-01-31T12:00:00Z", hint: "Empty: now." })}
        {choice("source", "Show", SOURCES)}
      </FilterForm>,
      cursor === "" && <Match {...prices} />,
      used.rows.length + used.unpriced.length > 0 && (
        rateTable("Models you use", used.rows, {
          above: used.unpriced.map((name) => (
            <p class="more">
              <b>{modelKey(name)}</b> has no price, so its calls cost $0.{" "}
              <a href={addPath(name)}>Set price</a>
            </p>
          )),
        })
      ),
      cursor === "" && source !== "default" && (
        rateTable("Custom prices", own.map(({ row }) => row), {
          action: (row) => <OwnActions {...prices} row={row} />,
          above: unshown > 0 && (
            <p class="soft">{formatCount(unshown)} more: search to see them.</p>
          ),
          none: isFiltered ? "No custom price matches." : NO_OWN,
        })
      ),
      source !== "own" && (
        rateTable("Default prices", defaults, {
          above: <p class="soft">{ORIGIN}</p>,
          none: "No default price matches.",
        })
      ),
      <NextPage to={nextPath(RATE_CARD_PATH, filters, prices.cursor)} />,
    ],
  };
};

/** The price of calls that name the model of the search; nothing if it is a part of other names. */
function Match({ call, match, own, defaults }: Prices) {
  if (call === null) return null;
  const name = call.provider === null ? call.model : `${call.model} of ${call.provider}`;
  const when = momentText(call.at);
  if (match !== null) {
    const kind = match.row.source === "own" ? "custom" : "default";
    const words = `They cost this ${kind} price on ${when}. It was found by `;
    const above = <p>{words + MATCH_WORDS[match.match]}.</p>;
    return rateTable(`Calls of ${name}`, [match.row], { above });
  }
  return own.length + defaults.length === 0 && (
    <InlineNotice kind="warn">
      <p>
        No price for {name} on {when}: its calls cost $0 and are listed as unpriced.{" "}
        <a href={addPath(call)}>Add a price</a>
      </p>
    </InlineNotice>
  );
}

/** Links that change and delete an own row, and its origin. */
function OwnActions({ row, own, names }: Prices & { readonly row: RateRow }) {
  const rate = own.find((rate) => rate.row === row);
  return rate && (
    <>
      <a href={editPath(row)} aria-label={`Change ${row.model}`}>Change</a>{" "}
      <a href={editPath(row, "delete")} aria-label={`Delete ${row.model}`}>Delete</a>
      <div class="soft">
        set <At at={rate.createdAt} /> by{" "}
        <Actor id={rate.createdBy} name={names.get(rate.createdBy) ?? null} />
        {rate.note !== undefined && `: ${rate.note}`}
      </div>
    </>
  );
}

/** The rate card, its forms, and the pages that reprice calls. */
export const rateCardPage: DashboardPage = {
  path: RATE_CARD_PATH,
  menu: { name: "Prices", area: "settings" },
  access: teamKey("admin"),
  handler: showRateCard,
  routes: [
    post(RATE_CARD_PATH, submitRate),
    get(NEW_RATE, showRateForm),
    post(`${RATE_CARD_PATH}/rows/:id/delete`, submitDeletion),
    get(REPRICE, showReprices),
    post(REPRICE, submitReprice),
    get(`${REPRICE}/:id`, showJob),
  ],
};

/** A panel with a table of rows; by default the last column has a link that sets the price. */
function rateTable(title: string, rows: readonly RateRow[], { action = setPrice, above, none }: {
  readonly action?: (row: RateRow) => Child;
  readonly above: Child;
  readonly none?: string;
}) {
  return tableSection(title, {
    ...{ rows, above, class: "fold named", none: none && <p>{none}</p> },
    caption: <caption class="sr">{title}, in dollars per million tokens</caption>,
    columns: [...COLUMNS, { head: "Action", class: "words", cell: action }],
  });
}

function setPrice(row: RateRow) {
  const verb = row.source === "own" ? "Change" : "Set price";
  return <a href={editPath(row)} aria-label={`${verb}: ${row.model}`}>{verb}</a>;
}

/** Columns of rates: the header, the label on a phone, and the rate. */
const RATES = [
  ["Input $/M", "in", "input"],
  ["Output $/M", "out", "output"],
  ["Cached $/M", "cached", "cachedInput"],
  ["Cache write $/M", "cache write", "cacheWrite"],
] as const satisfies readonly (readonly [string, string, keyof Rates])[];

const COLUMNS: readonly Column<RateRow>[] = [
  nameColumn(
    "Model",
    (row) => [row.model, ...termsOf(row).map((term) => <div class="soft">{term}</div>)],
  ),
  { head: "Provider", class: "words", cell: ({ provider }) => provider ?? "any" },
  ...RATES.map(([head, before, name]) => ({
    ...{ head, before, class: "num" },
    cell: ({ rates }: RateRow) => rates[name] === null ? "as input" : usdPerMillion(rates[name]),
  })),
  column(
    "In force",
    { class: "since", before: "in force" },
    ({ from }) => from === null ? "always" : `from ${momentText(from)}`,
  ),
];

/** Describes the rates of batches and of long calls. */
function termsOf({ tiers, batchPercent }: RateRow): readonly string[] {
  return [
    ...batchPercent === undefined ? [] : [`in a batch: ${batchPercent}% of these rates`],
    ...tiers.map(({ aboveInputTokens, rates }) =>
      `above ${formatCount(aboveInputTokens)} tokens: ${usdPerMillion(rates.input)} in, ` +
      `${usdPerMillion(rates.output)} out`
    ),
  ];
}
