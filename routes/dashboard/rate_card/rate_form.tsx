/** `/dashboard/rate-card/new`: the form for a price, and its submission. */
import type { Child } from "hono/jsx";
import type { Problem } from "../../../domain/core/errors.ts";
import { parseQuery } from "../../../domain/core/query.ts";
import { RATE_TIERS_MAX } from "../../../domain/core/limits.ts";
import { DEFAULT_RATES } from "../../../domain/pricing/default_rates.ts";
import { parseRate } from "../../../domain/pricing/rate_body.ts";
import type { RateRow } from "../../../domain/pricing/rates.ts";
import { parseReprice } from "../../../domain/repricing/body.ts";
import { modelKey } from "../../../domain/spend/spend.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { beginReprice } from "../../api/repricing/reprice.ts";
import { RATE_CARD_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { bodyOf, LabeledInput } from "../components/form_fields.tsx";
import {
  atField,
  rateBodyOf,
  type RateValues,
  readRateForm,
  TIER_FIELDS,
  tierField,
  tiersIn,
  valuesOf,
} from "./rate_form_values.ts";
import { MATCH, repricePath } from "./paths.ts";

/** The calls that a price is added for, by the model they name. */
interface TargetCalls {
  readonly model: string;
  readonly provider: string | null;
}

/** The content of the form. */
interface RateForm {
  readonly values: RateValues;
  /** Null if the price is not for particular calls. */
  readonly target: TargetCalls | null;
  /** The row that prefills the fields. */
  readonly from: RateRow | null;
  readonly problem: Problem | null;
}

/** Shows the form, prefilled from a row or from the nearest priced model. */
export function showRateForm({ rateCards }: AppDeps): Handle {
  return async (c) => {
    const parsed = parseQuery(queryOf(c));
    if (!parsed.ok) return fail(c, parsed.problem);
    const parameters = parsed.value;
    const model = parameters.get("model");
    const provider = parameters.get("provider") ?? null;
    const id = parameters.get("row");
    const own = (await rateCards.rows(c.get("principal").team)).map(({ row }) => row);
    const rows = [...own, ...DEFAULT_RATES.rows];
    const row = rows.find((candidate) => candidate.id === id);
    if (row !== undefined) return showForm(c, { ...EMPTY, values: valuesOf(row) });
    if (model === undefined) return showForm(c, EMPTY);
    const models = await rateCards.models(c.get("principal").team);
    const near = models.nearest(provider, model);
    const values = { ...(near === null ? {} : valuesOf(near)), provider: provider ?? "", model };
    return showForm(c, {
      values: { ...values, effective_from: "" },
      target: { model, provider },
      from: near,
      problem: null,
    });
  };
}

const EMPTY: RateForm = { values: {}, target: null, from: null, problem: null };

/** Stores a price, and starts a dry run if the form requests one. */
export function submitRate(deps: AppDeps): Handle {
  return async (c) => {
    const form = c.get("form");
    const values = readRateForm(form);
    const target = targetOf(form);
    const refused = (problem: Problem) => showForm(c, { values, target, from: null, problem });
    const spec = parseRate(rateBodyOf(values));
    if (!spec.ok) return refused(spec.problem);
    const { team, credentialId } = c.get("principal");
    const outcome = await deps.rateCards.put(team, spec.value, credentialId);
    if (outcome.kind === "refused") return refused(outcome.problem);
    const calls = target ?? { model: spec.value.model, provider: null };
    if (form.get("then") !== "dry-run") return seeOther(repricePath(calls, "stored"));
    const { provider, model } = calls;
    const value = { model, ...(provider === null ? {} : { provider }), dry_run: true };
    const request = parseReprice(bodyOf(value));
    if (!request.ok) return seeOther(repricePath(calls, "stored"));
    const started = await beginReprice(deps, c.get("principal"), request.value);
    // The price is stored anyway; submitting the repricing form shows the problem.
    if (started.kind === "refused") return seeOther(repricePath(calls, "stored"));
    return seeOther(`${RATE_CARD_PATH}/reprice/${started.job.id}?done=stored`);
  };
}

function targetOf(form: URLSearchParams): TargetCalls | null {
  const model = form.get("calls_model") ?? "";
  return model === "" ? null : { model, provider: form.get("calls_provider") || null };
}

function showForm(c: RequestContext, form: RateForm): Response {
  const { problem, target } = form;
  if (problem !== null) c.set("problem", problem);
  return showPage(c, {
    title: target === null ? "Put a price" : `Add a price for ${modelKey(target)}`,
    problem,
    aside: <a href={RATE_CARD_PATH}>Rate card</a>,
    body: <Form {...form} problem={problem === null ? null : atField(problem)} />,
  });
}

function Form({ values, target, from, problem }: RateForm) {
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
          Nothing was stored. {isShownAtField(problem) ? "One field is wrong." : problem.message}
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
        <RateInputs fields={CALL_FIELDS} {...{ values, problem }} />
      </fieldset>
      <fieldset>
        <legend>Dollars per million tokens</legend>
        <RateInputs fields={[...priceFields(""), BATCH_FIELD]} {...{ values, problem }} />
      </fieldset>
      <Tiers {...{ values, problem }} />
      <RateInputs fields={[NOTE_FIELD]} {...{ values, problem }} />
      <div class="actions">
        <button type="submit" name="then" value="dry-run">Store, and see what it changes</button>
        <button type="submit" class="secondary outline">Only store</button>
      </div>
      <p class="soft">
        A row of the same provider, model and date is replaced. Calls that come in from now on cost
        what it says; what is stored stays as it is until it is repriced.
      </p>
    </form>
  );
}

/** Returns whether the form has the field that a problem names. */
function isShownAtField({ field }: Problem): boolean {
  return FIELD_NAMES.test(field ?? "");
}

const FIELD_NAMES =
  /^(tiers\[\d+\]\.\w+|provider|model|effective_from|note|batch_percent|\w+_usd_per_million)$/;

interface RateFieldsProps {
  readonly values: RateValues;
  readonly problem: Problem | null;
}

interface RateField {
  readonly name: string;
  readonly label: string;
  readonly attributes?: Readonly<Record<string, string | boolean>>;
  readonly hint?: Child;
}

const CALL_FIELDS: readonly RateField[] = [
  {
    name: "model",
    label: "Model",
    attributes: { required: true },
    hint: (
      <>
        Also read with a provider in front, and with a date or a version at its end:{" "}
        <a href={MATCH}>which row prices a model</a>
      </>
    ),
  },
  { name: "provider", label: "Provider", hint: "Empty: any provider." },
  {
    name: "effective_from",
    label: "In force from (UTC)",
    attributes: { placeholder: "2026-01-31" },
    hint: "A day, or an instant. Empty: always.",
  },
];

const BATCH_FIELD: RateField = {
  name: "batch_percent",
  label: "In a batch, percent of these",
  attributes: { inputmode: "numeric" },
  hint: "Empty: no batch rate.",
};

const NOTE_FIELD: RateField = {
  name: "note",
  label: "Note",
  hint: "The source of the price, for later.",
};

/** The price fields of a row or, with a prefix, of a tier, where they are optional. */
function priceFields(prefix: string): RateField[] {
  const attributes = { inputmode: "decimal", required: prefix === "" };
  const optional = { attributes: { inputmode: "decimal" }, hint: "Empty: as input." };
  return [
    { name: `${prefix}input_usd_per_million`, label: "Input", attributes },
    { name: `${prefix}output_usd_per_million`, label: "Output", attributes },
    { name: `${prefix}cached_input_usd_per_million`, label: "Cached input", ...optional },
    { name: `${prefix}cache_write_usd_per_million`, label: "Cache write", ...optional },
  ];
}

function tierLimitField(tier: number): RateField {
  return {
    name: tierField(tier, TIER_FIELDS[0]),
    label: "More input tokens than",
    attributes: { inputmode: "numeric" },
  };
}

function RateInputs(
  { fields, values, problem }: RateFieldsProps & { readonly fields: readonly RateField[] },
) {
  return (
    <>
      {fields.map(({ name, attributes, ...field }) => (
        <LabeledInput
          name={name}
          value={values[name] ?? ""}
          attributes={{ autocomplete: "off", ...attributes }}
          problem={problem}
          {...field}
        />
      ))}
    </>
  );
}

/** Shows the tiers of a row, plus two empty ones. */
function Tiers({ values, problem }: RateFieldsProps) {
  const used = tiersIn(values);
  const count = Math.min(RATE_TIERS_MAX, used + 2);
  return (
    <details class="more" open={used > 0}>
      <summary>Other prices for long calls (tiers)</summary>
      <p class="soft">
        A call with more input tokens than a tier says costs the tier's prices, for all its tokens.
        From the smallest to the largest; a tier that is left empty does not count.
      </p>
      {Array.from({ length: count }, (_, tier) => (
        <fieldset>
          <legend>Tier {tier + 1}</legend>
          <RateInputs
            fields={[tierLimitField(tier), ...priceFields(tierField(tier, ""))]}
            {...{ values, problem }}
          />
        </fieldset>
      ))}
    </details>
  );
}
