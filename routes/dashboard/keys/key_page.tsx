/** One credential: its details, and the forms that rotate and revoke it. */
import { agentPath, KEYS_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { isLive } from "../../../domain/teams/credentials.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { OVERLAP_HOURS } from "../../../domain/core/limits.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import type { RequestContext } from "../../http/context.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, InlineNotice } from "../components/elements.tsx";
import { ConfirmForm, Field, FormProblem } from "../components/form_fields.tsx";
import { KeyValues } from "../components/key_values.tsx";
import { type KeyConfirmation, keyPath } from "./paths.ts";
import { KeyActions, KeyGrant, KeyState, kindLabel, LastUse } from "./labels.tsx";

interface KeyView {
  readonly record: ListedCredential;
  readonly now: number;
  /** The confirmation form that is open. */
  readonly confirm: KeyConfirmation | null;
  /** The reason the form was rejected, and the typed hours. */
  readonly problem: Problem | null;
  readonly hours?: string;
}

/** Shows the page of one credential. */
export function showKey(
  c: RequestContext,
  view: KeyView,
  headers: Record<string, string> = {},
): Response {
  const { record, now, confirm, problem } = view;
  const isMine = record.id === c.get("principal").credentialId;
  const isOpen = confirm !== null && (isLive(record, now) || problem !== null);
  return showPage(c, {
    title: record.name,
    aside: <a href={KEYS_PATH}>All keys</a>,
    problem,
    body: (
      <>
        <KeyDetails of={record} now={now} isMine={isMine} />
        {!isOpen
          ? <KeyActions of={record} now={now} />
          : confirm === "revoke"
          ? <RevokeForm of={record} isMine={isMine} problem={problem} />
          : <RotateForm of={record} isMine={isMine} problem={problem} hours={view.hours} />}
      </>
    ),
  }, headers);
}

interface KeyDetailsProps {
  readonly of: ListedCredential;
  readonly now: number;
  readonly isMine: boolean;
}

function KeyDetails({ of, now, isMine }: KeyDetailsProps) {
  const state = (
    <>
      <KeyState of={of} now={now} />
      {isMine ? " · you are signed in with it" : null}
    </>
  );
  const created = (
    <>
      <Ago at={of.createdAt} now={now} />
      {of.replaces === undefined ? null : (
        <>
          , replaces <a href={keyPath(of.replaces)}>an older one</a>
        </>
      )}
    </>
  );
  return (
    <KeyValues
      pairs={[
        ["State", state],
        ["Allows", <KeyGrant of={of} />],
        ["Created", created],
        ["Last used", <LastUse of={of} now={now} />],
        ["Id", <code>{of.id}</code>],
      ]}
    />
  );
}

interface KeyChange {
  readonly of: ListedCredential;
  readonly isMine: boolean;
  readonly problem: Problem | null;
}

function RevokeForm({ of, isMine, problem }: KeyChange) {
  return (
    <KeyForm of={of} does="revoke" problem={problem} submit={`Revoke this ${lowKind(of)}`}>
      <p>
        Calls with it are refused at once. This cannot be undone; to change it without a pause,{" "}
        <a href={keyPath(of.id, "rotate")}>rotate it</a>.
      </p>
      {isMine
        ? (
          <InlineNotice kind="bad">
            <p>You are signed in with this very key: revoking it signs you out.</p>
          </InlineNotice>
        )
        : null}
    </KeyForm>
  );
}

function RotateForm(
  { of, isMine, problem, hours }: KeyChange & { readonly hours: string | undefined },
) {
  return (
    <KeyForm of={of} does="rotate" problem={problem} submit="Create a new secret">
      <p>
        A new {lowKind(of)}{" "}
        with the same grant replaces it and works at once. The old secret works for the hours that
        you choose, so that nothing stops while you exchange it.
      </p>
      <Field
        name="overlap_hours"
        label="Hours until the old secret expires"
        type="number"
        min={isMine ? 1 : 0}
        max={OVERLAP_HOURS.max}
        value={hours ?? String(OVERLAP_HOURS.default)}
        problem={problem}
        hint={isMine
          ? `1 to ${OVERLAP_HOURS.max}; to end it earlier, revoke it with the new secret.`
          : `0 revokes it now; at most ${OVERLAP_HOURS.max}.`}
      />
      {isMine
        ? (
          <InlineNotice kind="warn">
            <p>
              You are signed in with this very key: you are signed out when the old secret expires.
            </p>
          </InlineNotice>
        )
        : null}
    </KeyForm>
  );
}

function lowKind(of: ListedCredential): string {
  const label = kindLabel(of);
  return of.grant.kind === "api_key" ? label : label.toLowerCase();
}

interface KeyFormProps extends Pick<KeyChange, "of" | "problem"> {
  readonly does: KeyConfirmation;
  readonly submit: string;
  readonly children?: Child;
}

function KeyForm({ of, does, submit, problem, children }: KeyFormProps) {
  return (
    <ConfirmForm
      action={`${KEYS_PATH}/${of.id}/${does}`}
      title={`${does === "rotate" ? "Rotate" : "Revoke"} “${of.name}”?`}
      submit={submit}
      submitClass={does === "revoke" ? "danger" : ""}
      cancel="Keep it as it is"
      cancelTo={of.grant.kind === "ping_token" ? agentPath(of.grant.agent) : KEYS_PATH}
    >
      <FormProblem problem={problem} fields={["overlap_hours"]} />
      {children}
    </ConfirmForm>
  );
}
