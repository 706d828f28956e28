/** `/dashboard/rate-card/new`: the form for a price, and its submission. */
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { RATE_TIERS_MAX } from "../../../domain/core/limits.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import { parseRate } from "../../../domain/pricing/rate_body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import { parseReprice } from "../../../domain/repricing/job.ts";
import type { ModelName } from "../../../domain/runs/model_usage.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { beginReprice } from "../../api/repricing/reprice.ts";
import { RATE_CARD_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { Crumbs } from "../components/elements.tsx";
import { bodyOf, type InputField, LabeledInputs } from "../components/form_fields.tsx";
import {
  atField,
  rateBodyOf,
  type RateTexts,
  readRateForm,
  textsOfRow,
  tierPrefix,
} from "./rate_values.ts";
import { jobPath, MATCH, repricePath } from "./paths.ts";

/** The content of the form. */
interface RateForm extends RateTexts {
  /** The calls that a price is added for, by the model they name; null for no particular calls. */
  readonly target: ModelName | null;
  /** The row that prefills the fields. */
  readonly from: RateRow | null;
  readonly problem: Problem | null;
}

const EMPTY: RateForm = { row: {}, tiers: [], target: null, from: null, problem: null };

/** Shows the form, prefilled from a row or from the nearest priced model. */
export const showRateForm: Handler = async (c, { rateCards }) => {
  const parsed = parseQuery(queryOf(c));
  if (!parsed.ok) return fail(c, parsed.problem);
  const parameters = parsed.value;
  const { team } = c.get("principal");
  const own = (await rateCards.rows(team)).map(({ row }) => row);
  const id = parameters.get("row");
  const row = [...own, ...DEFAULT_RATES.rows].find((candidate) => candidate.id === id);
  if (row !== undefined) return showForm(c, { ...EMPTY, ...textsOfRow(row) });
  const model = parameters.get("model");
  if (model === undefined) return showForm(c, EMPTY);
  const provider = parameters.get("provider") ?? null;
  const from = (await rateCards.models(team)).nearest(provider, model);
  const { row: nearest, tiers } = from === null ? EMPTY : textsOfRow(from);
  const texts = { ...nearest, provider: provider ?? "", model, effective_from: "" };
  return showForm(c, { ...EMPTY, row: texts, tiers, target: { model, provider }, from });
};

/** Stores a price, and starts a dry run if the form requests one. */
export const submitRate: Handler = async (c, deps) => {
  const form = c.get("form");
  const texts = readRateForm(form);
  const target = targetOf(form);
  const refused = (problem: Problem) => showForm(c, { ...EMPTY, ...texts, target, problem });
  const spec = parseRate(rateBodyOf(texts));
  if (!spec.ok) return refused(spec.problem);
  const principal = c.get("principal");
  const outcome = await deps.rateCards.put(principal.team, spec.value, principal.credentialId);
  if (outcome.kind === "refused") return refused(outcome.problem);
  const calls = target ?? { model: spec.value.model, provider: null };
  const stored = seeOther(repricePath(calls, "stored"));
  if (form.get("then") !== "dry-run") return stored;
  const request = parseReprice(bodyOf({ ...calls, dry_run: true }));
  if (!request.ok) return stored;
  const started = await beginReprice(deps, principal, request.value);
  // The price is stored anyway; submitting the repricing form shows the problem.
  return started.kind === "refused" ? stored : seeOther(`${jobPath(started.job.id)}?done=stored`);
};

function targetOf(form: URLSearchParams): ModelName | null {
  const model = form.get("calls_model") ?? "";
  return model === "" ? null : { model, provider: form.get("calls_provider") || null };
}

function showForm(c: RequestContext, form: RateForm): Response {
  const { problem, target } = form;
  if (problem !== null) c.set("problem", problem);
  return showPage(c, {
    title: target === null ? "Set a price" : `Add a price for ${modelKey(target)}`,
    problem,
    crumbs: <Crumbs links={[["Prices", RATE_CARD_PATH]]} />,
    body: <Form {...form} problem={problem === null ? null : atField(problem)} />,
  });
}

function Form({ row, tiers, target, from, problem }: RateForm) {
  return (
    <form method="post" action={RATE_CARD_PATH} class="rate-form">
      {from === null ? null : (
        <p class="notice warn">
          Filled in from{" "}
          {modelKey(from)}, the nearest model with a price. Look up what the model costs, and
          correct what differs.
        </p>
      )}
      {problem === null ? null : (
        <p role="alert" class="notice bad">
          Nothing was saved. {problem.field === undefined ? problem.message : "One field is wrong."}
        </p>
      )}
      {target === null ? null : (
        <>
          <input type="hidden" name="calls_model" value={target.model} />
          <input type="hidden" name="calls_provider" value={target.provider ?? ""} />
        </>
      )}
      <fieldset>
        <legend>Which calls</legend>
        <LabeledInputs fields={CALL_FIELDS} texts={row} problem={problem} />
      </fieldset>
      <fieldset>
        <legend>Dollars per million tokens</legend>
        <LabeledInputs fields={[...priceFields(true), BATCH_FIELD]} texts={row} problem={problem} />
      </fieldset>
      <Tiers tiers={tiers} problem={problem} />
      <LabeledInputs fields={[NOTE_FIELD]} texts={row} problem={problem} />
      <div class="actions">
        <button type="submit" class="btn main" name="then" value="dry-run">
          Save and see what changes
        </button>
        <button type="submit" class="btn">Save</button>
      </div>
      <p class="soft">
        A price of the same provider, model and date is replaced. New calls cost this price. Stored
        costs do not change until you reprice them.
      </p>
    </form>
  );
}

const OFF = { autocomplete: "off" };
const NUMERIC = { ...OFF, inputmode: "numeric" };
const DECIMAL = { ...OFF, inputmode: "decimal" };

const CALL_FIELDS: readonly InputField[] = [
  [
    "model",
    "Model",
    { ...OFF, required: true },
    <>
      Also read with a provider in front, and with a date or a version at its end:{" "}
      <a href={MATCH}>find the price of a model</a>
    </>,
  ],
  ["provider", "Provider", OFF, "Empty: any provider."],
  [
    "effective_from",
    "In force from (UTC)",
    { ...OFF, placeholder: "2026-01-31" },
    "A day, or an instant. Empty: always.",
  ],
];

const BATCH_FIELD: InputField = [
  "batch_percent",
  "In a batch, percent of these",
  NUMERIC,
  "Empty: no batch rate.",
];

const NOTE_FIELD: InputField = ["note", "Note", OFF, "The source of the price, for later."];

const LIMIT_FIELD: InputField = ["above_input_tokens", "More input tokens than", NUMERIC];

function priceFields(required: boolean): InputField[] {
  const hint = "Empty: as input.";
  return [
    ["input_usd_per_million", "Input", { ...DECIMAL, required }],
    ["output_usd_per_million", "Output", { ...DECIMAL, required }],
    ["cached_input_usd_per_million", "Cached input", DECIMAL, hint],
    ["cache_write_usd_per_million", "Cache write", DECIMAL, hint],
  ];
}

/** Shows the tiers of a row, plus two empty ones; their prices are optional. */
function Tiers({ tiers, problem }: Pick<RateForm, "tiers" | "problem">) {
  return (
    <details class="more" open={tiers.length > 0}>
      <summary>Other prices for long calls (tiers)</summary>
      <p class="soft">
        A call with more input tokens than a tier says costs the tier's prices, for all its tokens.
        From the smallest to the largest; a tier that is left empty does not count.
      </p>
      {[...tiers, {}, {}].slice(0, RATE_TIERS_MAX).map((texts, tier) => (
        <fieldset>
          <legend>Tier {tier + 1}</legend>
          <LabeledInputs
            fields={[LIMIT_FIELD, ...priceFields(false)]}
            prefix={tierPrefix(tier)}
            {...{ texts, problem }}
          />
        </fieldset>
      ))}
    </details>
  );
}
