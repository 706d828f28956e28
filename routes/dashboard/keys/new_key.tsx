/** `/dashboard/keys/new`: the form for a new key or ping token, and its submission. */
import { SCOPES } from "../../../domain/teams/credentials.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, KEY_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { parseKey } from "../../../domain/teams/key_list.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { View } from "../layout/page.ts";
import { KEYS_PATH } from "../layout/paths.ts";
import { showFormOnProblem, showPage } from "../layout/reply.tsx";
import { Crumbs } from "../components/elements.tsx";
import { bodyOf, Field, FormProblem } from "../components/form_fields.tsx";
import { KnownLists, readKnownAgents } from "../alerts/known_values.tsx";
import { newKeyPath } from "./paths.ts";
import { kindLabel, SCOPE_LABELS } from "./labels.tsx";
import { nextAfter, showSecret } from "./secret.tsx";

interface KeyFields {
  readonly kind: "api_key" | "ping_token";
  readonly name: string;
  readonly scopes: readonly string[];
  readonly agent: string;
}

export const showNewKey: Handler = async (c, deps) => {
  const { kind, agent = "" } = c.req.query();
  const fields = { kind: kindOf(kind), name: "", scopes: ["ingest"], agent };
  return showPage(c, viewOf(fields, await readKnownAgents(deps, c.get("principal").team), null));
};

/** Creates a credential and shows its secret, or the form again. */
export const submitNewKey: Handler = async (c, deps) => {
  const form = c.get("form");
  const fields: KeyFields = {
    kind: kindOf(form.get("kind")),
    name: form.get("name") ?? "",
    scopes: form.getAll("scopes"),
    agent: form.get("agent") ?? "",
  };
  const { team, credentialId } = c.get("principal");
  const agents = await readKnownAgents(deps, team);
  showFormOnProblem(c, (problem) => viewOf(fields, agents, problem));
  const spec = parseKey(bodyOf({ ...fields }));
  if (!spec.ok) return fail(c, spec.problem);
  const created = await deps.credentials.create(team, spec.value, credentialId);
  const title = `${kindLabel(created.record)} created`;
  return showSecret(c, created, { title, next: nextAfter(created) });
};

function kindOf(text: string | null | undefined): KeyFields["kind"] {
  return text === "ping_token" ? text : "api_key";
}

function viewOf(fields: KeyFields, agents: readonly string[], problem: Problem | null): View {
  const isToken = fields.kind === "ping_token";
  return {
    title: isToken ? "New ping token" : "New API key",
    crumbs: <Crumbs links={[["Keys", KEYS_PATH]]} />,
    body: (
      <form class="narrow" method="post" action={KEYS_PATH}>
        <FormProblem problem={problem} fields={["name", isToken ? "agent" : "scopes"]} />
        {isToken && <KnownLists known={{ agents }} />}
        <input type="hidden" name="kind" value={fields.kind} />
        <Field
          name="name"
          label="Name"
          value={fields.name}
          problem={problem}
          required
          maxlength={KEY_NAME_CHARS_MAX}
          placeholder={isToken ? "backup host" : "production worker"}
          hint="Where it is used, so that you know later what stops when you revoke it."
        />
        {isToken
          ? (
            <Field
              name="agent"
              label="Agent"
              value={fields.agent}
              problem={problem}
              required
              list="known-agents"
              maxlength={AGENT_CHARS_MAX}
              placeholder="nightly"
              hint="The one agent that it can send pings and heartbeats for; the first of them creates a new agent."
            />
          )
          : <Scopes checked={fields.scopes} problem={problem} />}
        <button type="submit" class="btn main">
          {isToken ? "Create ping token" : "Create key"}
        </button>
        <p class="soft">
          {isToken ? "For programs or people: " : "For one cron job: "}
          <a href={newKeyPath(isToken ? "api_key" : "ping_token")}>
            {isToken ? "an API key" : "a ping token"}
          </a>.
        </p>
      </form>
    ),
  };
}

/** Checkboxes for the scopes of a key. */
export function Scopes(
  { checked, problem }: { readonly checked: readonly string[]; readonly problem: Problem | null },
) {
  const message = problem?.field === "scopes" ? problem.message : null;
  return (
    <fieldset
      {...message === null ? {} : { "aria-invalid": "true", "aria-describedby": "scopes-problem" }}
    >
      <legend>What it may do</legend>
      {SCOPES.map((scope) => (
        <label>
          <input type="checkbox" name="scopes" value={scope} checked={checked.includes(scope)} />
          <b>{scope}</b> – {SCOPE_LABELS[scope]}
        </label>
      ))}
      {message === null ? null : <small id="scopes-problem" class="wrong">{message}</small>}
    </fieldset>
  );
}
