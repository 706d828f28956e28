/** One credential: its facts, and the forms that rotate and revoke it. */
import { agentPath, KEYS_PATH } from "../layout/paths.ts";
import type { Child } from "hono/jsx";
import { isLive } from "../../../domain/teams/credentials.ts";
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import { OVERLAP_HOURS } from "../../../domain/core/limits.ts";
import type { ListedCredential } from "../../../domain/teams/key_list.ts";
import type { RequestContext } from "../../http/context.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago, InlineNotice } from "../components/elements.tsx";
import { Field, FormProblem } from "../components/form_fields.tsx";
import { type KeyConfirmation, keyPath } from "./paths.ts";
import { KeyActions, kindLabel, LastUse, May, State } from "./labels.tsx";

/** What is shown of one. */
interface Shown {
  readonly record: ListedCredential;
  readonly now: number;
  /** What somebody is about to do. */
  readonly confirm: KeyConfirmation | null;
  /** Why it was refused, and what was typed. */
  readonly problem: Problem | null;
  readonly hours?: string;
}

/** Answers with the page of one credential. */
export function showKey(
  c: RequestContext,
  shown: Shown,
  headers: Record<string, string> = {},
): Response {
  const { record, now, confirm, problem } = shown;
  const isMine = record.id === c.get("principal").credentialId;
  const isOpen = confirm !== null && (isLive(record, now) || problem !== null);
  return showPage(c, {
    title: record.name,
    aside: <a href={KEYS_PATH}>All keys</a>,
    status: problem === null ? 200 : ERRORS[problem.code].status,
    body: (
      <>
        <KeyFacts of={record} now={now} isMine={isMine} />
        {!isOpen
          ? <KeyActions of={record} now={now} />
          : confirm === "revoke"
          ? <RevokeForm of={record} isMine={isMine} problem={problem} />
          : <RotateForm of={record} isMine={isMine} problem={problem} hours={shown.hours} />}
      </>
    ),
  }, headers);
}

interface Facts {
  readonly of: ListedCredential;
  readonly now: number;
  readonly isMine: boolean;
}

function KeyFacts({ of, now, isMine }: Facts) {
  return (
    <dl class="pairs">
      <dt>State</dt>
      <dd>
        <State of={of} now={now} />
        {isMine ? " · you are signed in with it" : null}
      </dd>
      <dt>Allows</dt>
      <dd>
        <May of={of} />
      </dd>
      <dt>Created</dt>
      <dd>
        <Ago at={of.createdAt} now={now} />
        {of.replaces === undefined ? null : (
          <>
            , in place of <a href={keyPath(of.replaces)}>an older one</a>
          </>
        )}
      </dd>
      <dt>Last used</dt>
      <dd>
        <LastUse of={of} now={now} />
      </dd>
      <dt>Id</dt>
      <dd>
        <code>{of.id}</code>
      </dd>
    </dl>
  );
}

interface Asked {
  readonly of: ListedCredential;
  readonly isMine: boolean;
  readonly problem: Problem | null;
}

function RevokeForm({ of, isMine, problem }: Asked) {
  return (
    <Confirmation of={of} does="revoke" problem={problem} word={`Revoke this ${lowKind(of)}`}>
      <p>
        Whoever still sends it is refused at once. This cannot be undone; to change it without a
        pause, <a href={keyPath(of.id, "rotate")}>rotate it</a>.
      </p>
      {isMine
        ? (
          <InlineNotice kind="bad">
            <p>You are signed in with this very key: revoking it signs you out.</p>
          </InlineNotice>
        )
        : null}
    </Confirmation>
  );
}

function RotateForm(
  { of, isMine, problem, hours }: Asked & { readonly hours: string | undefined },
) {
  return (
    <Confirmation of={of} does="rotate" problem={problem} word="Make a new secret">
      <p>
        A new {lowKind(of)}{" "}
        that may do the same takes its place and works at once. The old secret goes on for the hours
        you say, so that nothing stops while you exchange it.
      </p>
      <Field
        name="overlap_hours"
        label="Hours that the old secret goes on"
        type="number"
        min={isMine ? 1 : 0}
        max={OVERLAP_HOURS.max}
        value={hours ?? String(OVERLAP_HOURS.default)}
        problem={problem}
        hint={isMine
          ? `1 to ${OVERLAP_HOURS.max}; to end it before, revoke it with the new secret.`
          : `0 ends it now; at most ${OVERLAP_HOURS.max}.`}
      />
      {isMine
        ? (
          <InlineNotice kind="warn">
            <p>
              You are signed in with this very key: you are signed out when the old secret ends.
            </p>
          </InlineNotice>
        )
        : null}
    </Confirmation>
  );
}

function lowKind(of: ListedCredential): string {
  const word = kindLabel(of);
  return of.grant.kind === "api_key" ? word : word.toLowerCase();
}

interface ConfirmationProps {
  readonly of: ListedCredential;
  readonly does: KeyConfirmation;
  readonly word: string;
  readonly problem: Problem | null;
  readonly children?: Child;
}

function Confirmation({ of, does, word, problem, children }: ConfirmationProps) {
  const back = of.grant.kind === "ping_token" ? agentPath(of.grant.agent) : KEYS_PATH;
  return (
    <form class="confirm" method="post" action={`${KEYS_PATH}/${of.id}/${does}`}>
      <h2>{does === "rotate" ? "Rotate" : "Revoke"} “{of.name}”?</h2>
      <FormProblem problem={problem} fields={["overlap_hours"]} />
      {children}
      <div class="buttons">
        <button type="submit" class={does === "revoke" ? "danger" : ""}>{word}</button>
        <a href={back} role="button" class="secondary outline">Keep it as it is</a>
      </div>
    </form>
  );
}
