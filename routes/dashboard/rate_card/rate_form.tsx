/** `/dashboard/rate-card/new`: the form for a price, its submission, and the deletion. */
import {
  existing,
  nullIfRefused,
  type Problem,
  unlessRefused,
} from "../../../domain/core/errors.ts";
import { RATE_TIERS_MAX } from "../../../domain/core/limits.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import { parseRate, rowFields } from "../../../domain/pricing/rate_body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import { parseReprice } from "../../../domain/repricing/reprice_job.ts";
import type { ModelName } from "../../../domain/runs/model_usage.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import type { RequestContext } from "../../http/context.ts";
import { NO_SUCH_ROW } from "../../api/rate_card/rate_card.ts";
import { beginReprice } from "../../api/repricing/reprice.ts";
import { queryText, RATE_CARD_PATH } from "../layout/paths.ts";
import { type PageHandler, seeOther, type View } from "../layout/page.tsx";
import { confirmedIn, ConfirmForm } from "../components/table.tsx";
import { Crumbs, SAVED } from "../components/elements.tsx";
import {
  bodyOf,
  formOf,
  FormProblem,
  readTexts,
  type Texts,
  textsOf,
  valuesIn,
} from "../components/form_fields.tsx";
import { dateText } from "../components/format.ts";
import { jobPath, repricePath } from "./paths.ts";

/** The content of the form. */
interface RateForm {
  readonly row: Texts;
  readonly tiers: readonly Texts[];
  /** The calls that a price is added for, by the model they name; none for no particular calls. */
  readonly target?: ModelName | null;
  /** The row that prefills the fields. */
  readonly from?: RateRow | null;
}

/** Shows the form, prefilled from a row or from the nearest priced model. */
export const showRateForm: PageHandler = async ({ c, deps: { rateCards }, team }) => {
  const { row: id, model, provider = "" } = c.req.query();
  const rate = (await rateCards.rows(team)).find(({ row }) => row.id === id);
  const row = rate?.row ?? DEFAULT_RATES.rows.find((row) => row.id === id);
  if (row !== undefined) {
    return formView(c, { ...textsOfRow(row, rate?.note), from: row });
  }
  if (!model) return formView(c, textsOfRow(null));
  const target = { model, provider: provider || null };
  const from = (await rateCards.models(team)).nearest(target.provider, model);
  const near = textsOfRow(from);
  const texts = { ...near.row, provider, model, effective_from: "" };
  return formView(c, { row: texts, tiers: near.tiers, target, from });
};

/** Stores a price, and starts a dry run if the form requests one. */
export const submitRate: PageHandler = async (visit) => {
  const { c, deps, team, credentialId, principal, onProblem } = visit;
  const texts = readRateForm(c.get("form"));
  const { model, provider } = c.req.query();
  const target = model ? { model, provider: provider || null } : null;
  onProblem((problem) => formView(c, { ...texts, target }, problem));
  const spec = parseRate(bodyOf({
    ...valuesIn(texts.row, valueOf),
    tiers: texts.tiers.map((tier) => valuesIn(tier, valueOf)),
  }));
  await deps.rateCards.put(team, spec, credentialId);
  const calls = target ?? { model: spec.model, provider: null };
  const dryRun = bodyOf({ ...calls, dry_run: true });
  const request = unlessRefused(() => parseReprice(dryRun), () => null);
  if (c.get("form").get("then") === "dry-run" && request !== null) {
    const started = await beginReprice(deps, principal, request).catch(nullIfRefused);
    if (started !== null) return seeOther(jobPath(started.job.id) + SAVED);
  }
  // The price is stored anyway; submitting the repricing form shows a problem of the job.
  return seeOther(repricePath(calls, "saved"));
};

/** Deletes the row and redirects to the form that reprices its calls. */
export const submitDeletion: PageHandler = async (
  { c, deps: { rateCards }, team, credentialId },
) => {
  const deleted = await rateCards.delete(team, c.req.param("id") ?? "", credentialId);
  const { model } = existing(deleted, NO_SUCH_ROW).row;
  return seeOther(repricePath({ model, provider: null }, "deleted"));
};

function formView(
  c: RequestContext,
  { row, tiers, target = null, from = null }: RateForm,
  refused: Problem | null = null,
): View {
  const problem = atField(refused);
  const form = formOf(row, problem);
  return {
    title: target === null ? "Set a price" : `Add a price for ${modelKey(target)}`,
    crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH]]} />,
    body: [
      target === null && from?.source === "own" && confirmedIn(c, "delete") && (
        <ConfirmForm
          action={`${RATE_CARD_PATH}/rows/${encodeURIComponent(from.id)}/delete`}
          title={`Delete the price of ${modelKey(from)}?`}
          submit="Delete price"
          cancelTo={RATE_CARD_PATH}
        >
          <p>New calls of this model cost its other price, or $0 without one.</p>
        </ConfirmForm>
      ),
      <form
        method="post"
        action={RATE_CARD_PATH + queryText(Object.entries(target ?? {}))}
        class="rate-form"
      >
        {target !== null && from !== null && (
          <p class="notice warn">
            {`Filled in from ${modelKey(from)}, the nearest model with a price. Look up what ` +
              "the model costs, and correct what differs."}
          </p>
        )}
        <FormProblem problem={problem} fields={FIELDS} />
        <fieldset>
          <legend>Which calls</legend>
          {form.text("model", "Model", {
            required: true,
            hint: "Also read with a provider in front, and with a date or a version at its end.",
          })}
          {form.text("provider", "Provider", { hint: "Empty: any provider." })}
          {form.text("effective_from", "In force from (UTC)", {
            placeholder: "YYYY-MM-DD",
            hint: "A day, or an instant. Empty: always.",
          })}
        </fieldset>
        <fieldset>
          <legend>Dollars per million tokens</legend>
          {RATES.map(([name, label, hint]) =>
            form.text(name, label, { inputmode: "decimal", required: hint === undefined, hint })
          )}
          {form.text("batch_percent", "In a batch, percent of these", {
            inputmode: "numeric",
            hint: "Empty: no batch rate.",
          })}
        </fieldset>
        <details class="more" open={tiers.length > 0}>
          <summary>Other prices for long calls (tiers)</summary>
          <p class="soft">
            A call with more input tokens than a tier says costs the tier's prices, for all its
            tokens. From the smallest to the largest; a tier that is left empty does not count.
          </p>
          {TIERS.slice(0, tiers.length + 2).map((prefix, at) => {
            const { text } = formOf(tiers[at] ?? {}, problem, prefix);
            return (
              <fieldset>
                <legend>Tier {at + 1}</legend>
                {text("above_input_tokens", "More input tokens than", { inputmode: "numeric" })}
                {RATES.map(([name, label, hint]) =>
                  text(name, label, { inputmode: "decimal", hint })
                )}
              </fieldset>
            );
          })}
        </details>
        {form.text("note", "Note", { hint: "The source of the price, for later." })}
        <div class="actions">
          <button type="submit" class="btn main" name="then" value="dry-run">
            Save and see what changes
          </button>
          <button type="submit" class="btn">Save</button>
        </div>
        <p class="soft">
          A price of the same provider, model and date is replaced. New calls cost this price.
          Stored costs do not change until you reprice them.
        </p>
      </form>,
    ],
  };
}

/** Fields of the rates: name, label, and a hint if the field may be empty in a row. */
const RATES: readonly (readonly [name: string, label: string, hint?: string])[] = [
  ["input_usd_per_million", "Input"],
  ["output_usd_per_million", "Output"],
  ["cached_input_usd_per_million", "Cached input", "Empty: as input."],
  ["cache_write_usd_per_million", "Cache write", "Empty: as input."],
];

const RATE_FIELDS = RATES.map(([name]) => name);
const TEXT_FIELDS = ["provider", "model", "effective_from", "note"];
const ROW_FIELDS = [...TEXT_FIELDS, ...RATE_FIELDS, "batch_percent"];
const TIER_FIELDS = ["above_input_tokens", ...RATE_FIELDS];

/** Begins the names of each tier's fields. */
const TIERS = Array.from({ length: RATE_TIERS_MAX }, (_, tier) => `tiers[${tier}].`);

/** Fields that show their errors. */
const FIELDS = [...ROW_FIELDS, ...TIERS.flatMap((tier) => TIER_FIELDS.map((name) => tier + name))];

/** Reads the form; skips empty tiers. */
function readRateForm(form: URLSearchParams): RateForm {
  const tiers = TIERS.map((prefix) => readTexts(form, TIER_FIELDS, prefix));
  const isFilled = (tier: Texts) => Object.values(tier).some((text) => text !== "");
  return { row: readTexts(form, ROW_FIELDS), tiers: tiers.filter(isFilled) };
}

/** Fills in the form from a row and its note. */
function textsOfRow(row: RateRow | null, note = ""): RateForm {
  const { tiers, ...fields } = row === null ? { tiers: [] } : rowFields(row);
  return {
    row: { ...textsOf(ROW_FIELDS, fields), effective_from: typedInstant(row?.from ?? null), note },
    tiers: [tiers].flat().map((tier) => textsOf(TIER_FIELDS, Object(tier))),
  };
}

/** Converts a field. Text that is not an exact number stays text, which the parser rejects. */
function valueOf(text: string, name: string): number | string {
  if (name === "effective_from") return instantOfDay(text);
  if (TEXT_FIELDS.includes(name)) return text;
  const [, whole = "", decimals = ""] = /^(\d{1,16})(?:\.(\d{1,22}))?$/.exec(text) ?? [];
  const digits = decimals.replace(/0+$/, "");
  const plain = whole.replace(/^0+(?=\d)/, "") + (digits && `.${digits}`);
  return plain === String(Number(text)) ? Number(text) : text;
}

/** Turns a day into its first instant; returns other text unchanged. */
export function instantOfDay(text: string): string {
  return /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00.000Z` : text;
}

/** Formats an instant as typed: as a day if it is the first instant of one. */
export function typedInstant(ms: number | null): string {
  return ms === null ? "" : formatInstant(ms).replace(/T00:00:00(?:\.000)?Z$/, "");
}

/** Formats an instant to read: `Nov 8, 2026`, with its time unless a UTC day begins there. */
export function momentText(ms: number): string {
  const time = formatInstant(ms).slice(11, 19);
  return time === "00:00:00" ? dateText(ms) : `${dateText(ms)}, ${time} UTC`;
}

/** Assigns a problem to the form field that its message names: `field` omits the tier. */
function atField(problem: Problem | null): Problem | null {
  const field = /"(tiers\[\d+\]\.\w+)"/.exec(problem?.message ?? "")?.[1];
  return problem && field !== undefined ? { ...problem, field } : problem;
}
