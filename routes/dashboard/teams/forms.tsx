/** The forms that change a team and create keys for it, and the bodies of their calls. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { KEY_NAME_CHARS_MAX, TEAM_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { TIER_NAMES, TIER_OF_OWN_LIMITS } from "../../../domain/teams/plans.ts";
import { teamFields } from "../../../domain/teams/team_change.ts";
import {
  Field,
  formFields,
  FormProblem,
  readInteger,
  Select,
  type Texts,
  textsOf,
  valuesIn,
} from "../components/form_fields.tsx";
import { Scopes } from "../keys/new_key.tsx";
import { teamPath } from "./paths.ts";

const RATES = [["sustained", "Sustained"], ["burst", "Burst"]] as const;
const LIMITS = [
  ["events_per_month", "Events a month"],
  ["agents_max", "Agents"],
  ["metadata_keys_max", "Metadata keys"],
  ["payload_days", "Days events are kept"],
  ["record_days", "Days records are kept"],
] as const;

/** Names of the fields of the change form. */
export const TEAM_FIELDS: readonly string[] = [
  ...["name", "tier", "owner_email"],
  ...[...RATES, ...LIMITS].map(([name]) => name),
];

/** Fills in the form from a team. */
export function textsOfTeam(team: Team): Texts {
  const { rate, limits, ...fields } = teamFields(team);
  return textsOf(TEAM_FIELDS, { ...fields, ...Object(rate), ...Object(limits) });
}

/**
 * Builds the body of the call; an empty field removes its value. Unchanged limits are left out, so
 * that a change of the plan takes a single step.
 */
export function changeBody(team: Team, texts: Texts): Record<string, unknown> {
  const { name, tier, owner_email } = texts;
  const stored = textsOfTeam(team);
  const isChanged = LIMITS.some(([name]) => texts[name] !== stored[name]);
  return {
    name,
    tier,
    owner_email: owner_email || null,
    rate: numbersOf(texts, RATES),
    ...isChanged ? { limits: numbersOf(texts, LIMITS) } : {},
  };
}

/** Reads numbers by name; null if no field is filled in. */
function numbersOf(texts: Texts, fields: typeof RATES | typeof LIMITS) {
  const numbers = valuesIn(texts, readInteger, fields.map(([name]) => name));
  return Object.keys(numbers).length === 0 ? null : numbers;
}

interface TeamFormProps {
  readonly texts: Texts;
  readonly problem: Problem | null;
}

export function ChangeForm({ team, texts, problem }: TeamFormProps & { readonly team: Team }) {
  return (
    <form class="narrow" method="post" action={teamPath(team.id)}>
      <h2>Change it</h2>
      <TeamFields texts={texts} problem={problem} />
      <fieldset>
        <legend>Requests a second instead of the plan's</legend>
        <NumberFields fields={RATES} texts={texts} />
        <small>Both, or neither for the plan's.</small>
      </fieldset>
      <fieldset>
        <legend>Limits of the plan “{TIER_OF_OWN_LIMITS}”</legend>
        <NumberFields fields={LIMITS} texts={texts} />
        <small>Empty is without limit. Other plans have limits of their own.</small>
      </fieldset>
      <button type="submit" class="btn main">Save</button>
    </form>
  );
}

/** The fields that the form for a new team has, too. */
export function TeamFields({ texts, problem }: TeamFormProps) {
  const field = formFields(texts, problem);
  return (
    <>
      <FormProblem problem={problem} fields={["name", "owner_email"]} />
      <Field
        {...field("name")}
        label="Name"
        required
        maxlength={TEAM_NAME_CHARS_MAX}
      />
      <Select
        name="tier"
        label="Plan"
        value={texts.tier ?? ""}
        options={TIER_NAMES.map((tier) => [tier, tier] as const)}
      />
      <Field
        {...field("owner_email")}
        label="Owner's e-mail address"
        type="email"
        hint="Notices about the quota are sent there; empty for none."
      />
    </>
  );
}

function NumberFields(
  { fields, texts }: {
    readonly fields: readonly (readonly [name: string, label: string])[];
    readonly texts: Texts;
  },
) {
  return (
    <div class="fields">
      {fields.map(([name, label]) => (
        <Field name={name} label={label} type="number" min={1} value={texts[name] ?? ""} />
      ))}
    </div>
  );
}

/** The fields of the form for a key. */
export interface KeyFields {
  readonly name: string;
  readonly scopes: readonly string[];
}

export function TeamKeyForm(
  { team, name, scopes, problem }: KeyFields & {
    readonly team: Team;
    readonly problem: Problem | null;
  },
) {
  return (
    <form class="narrow" method="post" action={`${teamPath(team.id)}/keys`}>
      <h2>Create a key for it</h2>
      <FormProblem problem={problem} fields={["name", "scopes"]} />
      <Field
        name="key_name"
        of="name"
        label="Name of the key"
        value={name}
        problem={problem}
        required
        maxlength={KEY_NAME_CHARS_MAX}
        hint="For a team that lost its last key; it creates its own others."
      />
      <Scopes checked={scopes} problem={problem} />
      <button type="submit" class="btn">Create key</button>
    </form>
  );
}
