/** The form with which the operator creates a key for a team. */
import type { Team } from "../../../domain/teams/team.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { KEY_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { Scopes } from "../keys/new_key.tsx";
import { Field, FormProblem } from "../components/form_fields.tsx";
import { teamPath } from "./paths.ts";

export interface TypedKey {
  readonly name: string;
  readonly scopes: readonly string[];
}

interface TeamKeyFormProps {
  readonly team: Team;
  readonly typed: TypedKey;
  readonly problem: Problem | null;
}

export function TeamKeyForm({ team, typed, problem }: TeamKeyFormProps) {
  return (
    <form class="narrow" method="post" action={`${teamPath(team.id)}/keys`}>
      <h2>Create a key for it</h2>
      <FormProblem problem={problem} fields={["name", "scopes"]} />
      <Field
        name="key_name"
        of="name"
        label="Name of the key"
        value={typed.name}
        problem={problem}
        required
        maxlength={KEY_NAME_CHARS_MAX}
        hint="For a team that lost its last key; it creates its own others."
      />
      <Scopes checked={typed.scopes} problem={problem} />
      <button type="submit">Create key</button>
    </form>
  );
}
