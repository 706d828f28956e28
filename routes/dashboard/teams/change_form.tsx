/** The form that changes a team, and its fields as the body of the call that does the same. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { TEAM_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { TIER_OF_OWN_LIMITS } from "../../../domain/teams/plans.ts";
import { teamFields } from "../../../domain/teams/team_change.ts";
import { Choice, Field, FormProblem } from "../components/form_fields.tsx";
import { numberOf } from "../components/numbers.ts";
import { PLAN_LABELS } from "./new_team_page.tsx";
import { teamPath } from "./paths.ts";

/** Fields of the form by name, as texts. */
export type Typed = Readonly<Record<string, string>>;

const TEXTS = ["name", "tier", "owner_email"] as const;
const RATES = ["sustained", "burst"] as const;
const LIMITS = [
  ["events_per_month", "Events a month"],
  ["agents_max", "Agents"],
  ["metadata_keys_max", "Metadata keys"],
  ["payload_days", "Days events are kept"],
  ["record_days", "Days records are kept"],
] as const;
const NAMES = [...TEXTS, ...RATES, ...LIMITS.map(([name]) => name)];

/** The form as it is for a team. */
export function typedOf(team: Team): Typed {
  const { rate, limits, ...fields } = teamFields(team);
  const known: Record<string, unknown> = { ...fields, ...Object(rate), ...Object(limits) };
  return Object.fromEntries(NAMES.map((name) => [name, String(known[name] ?? "")]));
}

/** The form as it was sent. */
export function typedIn(form: URLSearchParams): Typed {
  return Object.fromEntries(NAMES.map((name) => [name, (form.get(name) ?? "").trim()]));
}

/**
 * The same as the body of the call; what is empty is taken away. Limits that nobody touched are left to the
 * plan, so that changing that is one step.
 */
export function changeFields(team: Team, typed: Typed): Record<string, unknown> {
  const known = typedOf(team);
  const isTouched = LIMITS.some(([name]) => typed[name] !== known[name]);
  return {
    name: typed.name,
    tier: typed.tier,
    owner_email: typed.owner_email === "" ? null : typed.owner_email,
    rate: numbersOf(typed, RATES),
    ...isTouched ? { limits: numbersOf(typed, LIMITS.map(([name]) => name)) } : {},
  };
}

/** Numbers by name; null where none is filled in. */
function numbersOf(typed: Typed, names: readonly string[]): Record<string, unknown> | null {
  const filled = names.filter((name) => (typed[name] ?? "") !== "");
  if (filled.length === 0) return null;
  return Object.fromEntries(filled.map((name) => [name, numberOf(typed[name] ?? "")]));
}

interface Form {
  readonly team: Team;
  readonly typed: Typed;
  readonly problem: Problem | null;
}

/** The form. */
export function ChangeForm({ team, typed, problem }: Form) {
  return (
    <form class="narrow" method="post" action={teamPath(team.id)}>
      <h2>Change it</h2>
      <FormProblem problem={problem} fields={["name", "owner_email"]} />
      <Field
        name="name"
        label="Name"
        value={typed.name ?? ""}
        problem={problem}
        required
        maxlength={TEAM_NAME_CHARS_MAX}
      />
      <Choice name="tier" label="Plan" value={typed.tier ?? ""} words={PLAN_LABELS} />
      <Field
        name="owner_email"
        label="Owner's e-mail address"
        type="email"
        value={typed.owner_email ?? ""}
        problem={problem}
        hint="Notices about the quota go there; empty for nobody."
      />
      <OwnNumbers typed={typed} />
      <button type="submit">Save</button>
    </form>
  );
}

function OwnNumbers({ typed }: Pick<Form, "typed">) {
  return (
    <>
      <fieldset>
        <legend>Requests a second in place of the plan's</legend>
        <div class="fields">
          <NumberField name="sustained" label="On end" typed={typed} />
          <NumberField name="burst" label="At once" typed={typed} />
        </div>
        <small>Both, or neither for the plan's.</small>
      </fieldset>
      <fieldset>
        <legend>Limits of the plan “{TIER_OF_OWN_LIMITS}”</legend>
        <div class="fields">
          {LIMITS.map(([name, label]) => <NumberField name={name} label={label} typed={typed} />)}
        </div>
        <small>Empty is without limit. Other plans have limits of their own.</small>
      </fieldset>
    </>
  );
}

interface NumberProps {
  readonly name: string;
  readonly label: string;
  readonly typed: Typed;
}

function NumberField({ name, label, typed }: NumberProps) {
  return <Field name={name} label={label} type="number" min={1} value={typed[name] ?? ""} />;
}
