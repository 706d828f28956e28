/** `/dashboard/keys/new`: the form for a new key or ping token. */
import { SCOPES } from "../../../domain/teams/credentials.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, KEY_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import type { Handle, RequestContext } from "../../http/context.ts";
import { KEYS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Field, FormProblem } from "../components/form_fields.tsx";
import { newKeyPath } from "./paths.ts";
import { SCOPE_LABELS } from "./labels.tsx";

export interface KeyFields {
  readonly kind: "api_key" | "ping_token";
  readonly name: string;
  readonly scopes: readonly string[];
  readonly agent: string;
}

/** Builds the body of the call that creates a credential. */
export function keyBody({ kind, name, scopes, agent }: KeyFields): Record<string, unknown> {
  return kind === "api_key" ? { kind, name, scopes } : { kind, name, agent };
}

export function showNewKey(): Handle {
  return (c) => {
    const { kind, agent = "" } = c.req.query();
    const isToken = kind === "ping_token";
    return showKeyForm(c, {
      kind: isToken ? "ping_token" : "api_key",
      name: "",
      scopes: ["ingest"],
      agent,
    }, null);
  };
}

/** Shows the form with the typed values and the error. */
export function showKeyForm(
  c: RequestContext,
  typed: KeyFields,
  problem: Problem | null,
  headers: Record<string, string> = {},
): Response {
  const isToken = typed.kind === "ping_token";
  return showPage(c, {
    title: isToken ? "New ping token" : "New API key",
    aside: <a href={KEYS_PATH}>All keys</a>,
    problem,
    body: <KeyFormBody typed={typed} problem={problem} />,
  }, headers);
}

interface KeyFormProps {
  readonly typed: KeyFields;
  readonly problem: Problem | null;
}

function KeyFormBody({ typed, problem }: KeyFormProps) {
  const isToken = typed.kind === "ping_token";
  const { name, agent } = typed;
  return (
    <form class="narrow" method="post" action={KEYS_PATH}>
      <FormProblem problem={problem} fields={["name", isToken ? "agent" : "scopes"]} />
      <input type="hidden" name="kind" value={typed.kind} />
      <Field
        name="name"
        label="Name"
        value={name}
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
            value={agent}
            problem={problem}
            required
            maxlength={AGENT_CHARS_MAX}
            placeholder="nightly"
            hint="The one agent that it can send pings and heartbeats for; the first of them creates a new agent."
          />
        )
        : <Scopes checked={typed.scopes} problem={problem} />}
      <button type="submit">{isToken ? "Create ping token" : "Create key"}</button>
      <p class="soft">
        {isToken
          ? (
            <>
              For programs or people: <a href={newKeyPath("api_key")}>an API key</a>.
            </>
          )
          : (
            <>
              For one cron job: <a href={newKeyPath("ping_token")}>a ping token</a>.
            </>
          )}
      </p>
    </form>
  );
}

interface ScopesProps {
  readonly checked: readonly string[];
  readonly problem: Problem | null;
}

/** Checkboxes for the scopes of a key. */
export function Scopes({ checked, problem }: ScopesProps) {
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
