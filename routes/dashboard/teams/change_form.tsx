/** The form that changes a team, and its conversion to the body of the API call. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { TEAM_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { TIER_NAMES, TIER_OF_OWN_LIMITS } from "../../../domain/teams/plans.ts";
import { teamFields } from "../../../domain/teams/team_change.ts";
import { Field, FormProblem, readInteger, Select } from "../components/form_fields.tsx";
import { teamPath } from "./paths.ts";

/** Field texts by name. */
export type TypedTeam = Readonly<Record<string, string>>;

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

/** Fills in the form from a team. */
export function fieldsOfTeam(team: Team): TypedTeam {
  const { rate, limits, ...fields } = teamFields(team);
  const values: Record<string, unknown> = { ...fields, ...Object(rate), ...Object(limits) };
  return Object.fromEntries(NAMES.map((name) => [name, String(values[name] ?? "")]));
}

export function readTeamFields(form: URLSearchParams): TypedTeam {
  return Object.fromEntries(NAMES.map((name) => [name, (form.get(name) ?? "").trim()]));
}

/**
 * Builds the body of the call; an empty field removes its value. Unchanged limits are left out, so
 * that a change of the plan takes a single step.
 */
export function changeBody(team: Team, typed: TypedTeam): Record<string, unknown> {
  const stored = fieldsOfTeam(team);
  const isChanged = LIMITS.some(([name]) => typed[name] !== stored[name]);
  return {
    name: typed.name,
    tier: typed.tier,
    owner_email: typed.owner_email === "" ? null : typed.owner_email,
    rate: numbersOf(typed, RATES),
    ...isChanged ? { limits: numbersOf(typed, LIMITS.map(([name]) => name)) } : {},
  };
}

/** Reads numbers by name; null if no field is filled in. */
function numbersOf(typed: TypedTeam, names: readonly string[]): Record<string, unknown> | null {
  const filled = names.filter((name) => (typed[name] ?? "") !== "");
  if (filled.length === 0) return null;
  return Object.fromEntries(filled.map((name) => [name, readInteger(typed[name] ?? "")]));
}

interface TeamFieldsProps {
  readonly typed: TypedTeam;
  readonly problem: Problem | null;
}

interface ChangeFormProps extends TeamFieldsProps {
  readonly team: Team;
}

export function ChangeForm({ team, typed, problem }: ChangeFormProps) {
  return (
    <form class="narrow" method="post" action={teamPath(team.id)}>
      <h2>Change it</h2>
      <TeamFields typed={typed} problem={problem} />
      <OwnNumbers typed={typed} />
      <button type="submit">Save</button>
    </form>
  );
}

/** The fields that the form for a new team has, too. */
export function TeamFields({ typed, problem }: TeamFieldsProps) {
  return (
    <>
      <FormProblem problem={problem} fields={["name", "owner_email"]} />
      <Field
        name="name"
        label="Name"
        value={typed.name ?? ""}
        problem={problem}
        required
        maxlength={TEAM_NAME_CHARS_MAX}
      />
      <Select
        name="tier"
        label="Plan"
        value={typed.tier ?? ""}
        options={TIER_NAMES.map((tier) => [tier, tier] as const)}
      />
      <Field
        name="owner_email"
        label="Owner's e-mail address"
        type="email"
        value={typed.owner_email ?? ""}
        problem={problem}
        hint="Notices about the quota are sent there; empty for none."
      />
    </>
  );
}

function OwnNumbers({ typed }: Pick<TeamFieldsProps, "typed">) {
  return (
    <>
      <fieldset>
        <legend>Requests a second instead of the plan's</legend>
        <div class="fields">
          <NumberField name="sustained" label="Sustained" typed={typed} />
          <NumberField name="burst" label="Burst" typed={typed} />
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
  readonly typed: TypedTeam;
}

function NumberField({ name, label, typed }: NumberProps) {
  return <Field name={name} label={label} type="number" min={1} value={typed[name] ?? ""} />;
}
