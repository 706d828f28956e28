/** `/dashboard/rate-card/new`: the form of a price, and storing it. */
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
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
import {
  rateBodyOf,
  type RateValues,
  readRateForm,
  TIER_FIELDS,
  tierField,
  tiersIn,
  valuesOf,
  wrongField,
} from "./rate_form_values.ts";
import { MATCH, repricePath } from "./paths.ts";

/** The calls that a price is added for, as they named their model. */
interface Meant {
  readonly model: string;
  readonly provider: string | null;
}

/** What the form shows. */
interface RateForm {
  readonly values: RateValues;
  /** Null where the price is for no calls in particular. */
  readonly meant: Meant | null;
  /** The row that the fields were filled in from. */
  readonly from: RateRow | null;
  readonly problem: Problem | null;
}

/** Shows the form, filled in from a row or from the nearest priced model. */
export function showRateForm({ rateCards }: AppDeps): Handle {
  return async (c) => {
    const parameters = parseQuery(queryOf(c));
    if (!parameters.ok) return fail(c, parameters.problem);
    const sent = parameters.value;
    const [model, provider, id] = [
      sent.get("model"),
      sent.get("provider") ?? null,
      sent.get("row"),
    ];
    const own = (await rateCards.rows(c.get("principal").team)).map(({ row }) => row);
    const rows = [...own, ...DEFAULT_RATES.rows];
    const row = rows.find((each) => each.id === id);
    if (row !== undefined) return showForm(c, { ...EMPTY, values: valuesOf(row) });
    if (model === undefined) return showForm(c, EMPTY);
    const models = await rateCards.models(c.get("principal").team);
    const near = models.nearest(provider, model);
    const values = { ...(near === null ? {} : valuesOf(near)), provider: provider ?? "", model };
    return showForm(c, {
      values: { ...values, effective_from: "" },
      meant: { model, provider },
      from: near,
      problem: null,
    });
  };
}

const EMPTY: RateForm = { values: {}, meant: null, from: null, problem: null };

/** Stores what the form says, and looks at once what it would change where that was asked for. */
export function storeRate(deps: AppDeps): Handle {
  return async (c) => {
    const form = c.get("form");
    const values = readRateForm(form);
    const meant = meantBy(form);
    const refused = (problem: Problem) => showForm(c, { values, meant, from: null, problem });
    const spec = parseRate(rateBodyOf(values));
    if (!spec.ok) return refused(spec.problem);
    const { team, credentialId } = c.get("principal");
    const outcome = await deps.rateCards.put(team, spec.value, credentialId);
    if (outcome.kind === "refused") return refused(outcome.problem);
    const calls = meant ?? { model: spec.value.model, provider: null };
    if (form.get("then") !== "dry-run") return seeOther(repricePath(calls, "stored"));
    const { provider, model } = calls;
    const value = { model, ...(provider === null ? {} : { provider }), dry_run: true };
    const request = parseReprice({ text: "", value });
    if (!request.ok) return seeOther(repricePath(calls, "stored"));
    const begun = await beginReprice(deps, c.get("principal"), request.value);
    // The price is stored all the same; the form there says more when it is sent.
    if (begun.kind === "refused") return seeOther(repricePath(calls, "stored"));
    return seeOther(`${RATE_CARD_PATH}/reprice/${begun.job.id}?done=stored`);
  };
}

function meantBy(form: URLSearchParams): Meant | null {
  const model = form.get("calls_model") ?? "";
  return model === "" ? null : { model, provider: form.get("calls_provider") || null };
}

function showForm(c: RequestContext, shown: RateForm): Response {
  const { problem, meant } = shown;
  if (problem !== null) c.set("problem", problem);
  return showPage(c, {
    title: meant === null ? "Put a price" : `Add a price for ${modelKey(meant)}`,
    status: problem === null ? 200 : ERRORS[problem.code].status,
    aside: <a href={RATE_CARD_PATH}>Rate card</a>,
    body: <Form {...shown} />,
  });
}

function Form({ values, meant, from, problem }: RateForm) {
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
      {meant === null ? null : (
        <>
          <input type="hidden" name="calls_model" value={meant.model} />
          <input type="hidden" name="calls_provider" value={meant.provider ?? ""} />
        </>
      )}
      <Whose {...{ values, problem }} />
      <fieldset>
        <legend>Dollars per million tokens</legend>
        <RateInputs {...{ values, problem }} prefix="" />
        <label>
          In a batch, percent of these
          <Input name="batch_percent" inputmode="numeric" {...{ values, problem }} />
          <small>Empty: no batch rate.</small>
        </label>
      </fieldset>
      <Tiers {...{ values, problem }} />
      <label>
        Note
        <Input name="note" {...{ values, problem }} />
        <small>Where the price is from, for whoever asks later.</small>
      </label>
      <div class="actions">
        <button type="submit" name="then" value="dry-run">Store, and see what it changes</button>
        <button type="submit" class="secondary outline">Only store</button>
      </div>
      <p class="soft">
        A row of the same provider, model and date is replaced. Calls that come in from now on cost
        what it says; what is stored stays as it is until it is priced anew.
      </p>
    </form>
  );
}

/** Whether the form has the field that a message is of. */
function isShownAtField(problem: Problem): boolean {
  return NAMES.test(wrongField(problem) ?? "");
}

/** Names of the form's fields. */
const NAMES =
  /^(tiers\[\d+\]\.\w+|provider|model|effective_from|note|batch_percent|\w+_usd_per_million)$/;

interface Filled {
  readonly values: RateValues;
  readonly problem: Problem | null;
}

function Whose({ values, problem }: Filled) {
  return (
    <fieldset>
      <legend>Which calls</legend>
      <label>
        Model
        <Input name="model" required {...{ values, problem }} />
        <small>
          Also read with a provider in front, and with a date or a version at its end:{" "}
          <a href={MATCH}>which row prices a model</a>
        </small>
      </label>
      <label>
        Provider
        <Input name="provider" {...{ values, problem }} />
        <small>Empty: whoever serves it.</small>
      </label>
      <label>
        In force from (UTC)
        <Input name="effective_from" placeholder="2026-01-31" {...{ values, problem }} />
        <small>A day, or an instant. Empty: always.</small>
      </label>
    </fieldset>
  );
}

const RATE_LABELS: readonly (readonly [string, string])[] = [
  ["input_usd_per_million", "Input"],
  ["output_usd_per_million", "Output"],
  ["cached_input_usd_per_million", "Cached input"],
  ["cache_write_usd_per_million", "Cache write"],
];

/** The prices that are left out where they are those of input. */
const OPTIONAL: ReadonlySet<string> = new Set(RATE_LABELS.slice(2).map(([name]) => name));

function RateInputs(
  { values, problem, prefix }: Filled & { readonly prefix: string },
) {
  return (
    <>
      {RATE_LABELS.map(([name, label]) => (
        <label>
          {label}
          <Input
            name={`${prefix}${name}`}
            inputmode="decimal"
            // A tier need not be filled in.
            required={prefix === "" && !OPTIONAL.has(name)}
            {...{ values, problem }}
          />
          {OPTIONAL.has(name) ? <small>Empty: as input.</small> : null}
        </label>
      ))}
    </>
  );
}

/** The tiers that there are, and room for two more. */
function Tiers({ values, problem }: Filled) {
  const used = tiersIn(values);
  const shown = Math.min(RATE_TIERS_MAX, used + 2);
  return (
    <details class="more" open={used > 0}>
      <summary>Other prices for long calls (tiers)</summary>
      <p class="soft">
        A call with more input tokens than a tier says costs the tier's prices, for all its tokens.
        From the smallest to the largest; a tier that is left empty does not count.
      </p>
      {Array.from({ length: shown }, (_, tier) => (
        <fieldset>
          <legend>Tier {tier + 1}</legend>
          <label>
            More input tokens than
            <Input
              name={tierField(tier, TIER_FIELDS[0])}
              inputmode="numeric"
              {...{ values, problem }}
            />
          </label>
          <RateInputs {...{ values, problem }} prefix={tierField(tier, "")} />
        </fieldset>
      ))}
    </details>
  );
}

interface InputOf extends Filled {
  readonly name: string;
  readonly required?: boolean;
  readonly inputmode?: "decimal" | "numeric";
  readonly placeholder?: string;
}

function Input({ name, values, problem, ...attributes }: InputOf) {
  const isWrong = problem !== null && wrongField(problem) === name;
  const describedBy = `${name}-problem`;
  return (
    <>
      <input
        type="text"
        name={name}
        value={values[name] ?? ""}
        autocomplete="off"
        {...attributes}
        {...(isWrong ? { "aria-invalid": "true", "aria-describedby": describedBy } : {})}
      />
      {isWrong ? <small id={describedBy}>{problem.message}.</small> : null}
    </>
  );
}
