/** One credential: its details, and the forms that rotate and revoke it. */
import { agentPath, KEYS_PATH } from "../layout/paths.ts";
import { isLive } from "../../../domain/teams/credentials.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { OVERLAP_HOURS } from "../../../domain/core/limits.ts";
import { type ListedCredential, parseRotation } from "../../../domain/teams/key_list.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { fail } from "../../http/answer.ts";
import type { Handler } from "../../http/admission.ts";
import type { AppDeps } from "../../http/context.ts";
import { isKeyId, NO_SUCH_KEY } from "../../api/keys/keys.ts";
import type { View } from "../layout/page.ts";
import { seeOther, showFormOnProblem } from "../layout/reply.tsx";
import { Crumbs, InlineNotice, KeyValues } from "../components/elements.tsx";
import { Ago } from "../components/time.tsx";
import { bodyOf, Field, FormProblem, readInteger } from "../components/form_fields.tsx";
import { ConfirmForm } from "../components/confirm_form.tsx";
import { type KeyConfirmation, keyPath } from "./paths.ts";
import { KeyActions, KeyGrant, KeyState, kindLabel, LastUse } from "./labels.tsx";
import { nextAfter, showSecret } from "./secret.tsx";

interface KeyProps {
  readonly record: ListedCredential;
  readonly now: number;
  /** Id of the session's own credential. */
  readonly mine: string;
}

interface KeyFormProps extends KeyProps {
  /** The confirmation form that is open. */
  readonly confirm: KeyConfirmation | null;
  /** The reason the form was rejected, and the typed hours. */
  readonly problem: Problem | null;
  readonly hours?: string;
}

/** Shows the page of one credential. */
export function keyView(key: KeyFormProps): View {
  const { record, now, confirm, problem } = key;
  return {
    title: record.name,
    crumbs: <Crumbs links={[["Keys", KEYS_PATH]]} />,
    body: (
      <>
        <KeyDetails {...key} />
        {confirm !== null && (isLive(record, now) || problem !== null)
          ? <KeyForm {...key} />
          : <KeyActions of={record} now={now} />}
      </>
    ),
  };
}

/** Reads a credential of a team; null if it has none with this id. */
export async function readKey(
  credentials: AppDeps["credentials"],
  team: Team,
  id: string,
): Promise<ListedCredential | null> {
  return isKeyId(id) ? await credentials.read(team, id) : null;
}

/** Rotates a credential and shows the new secret, or the form again. */
export const submitRotateKey: Handler = async (c, { credentials, environment }) => {
  const { team, credentialId: mine } = c.get("principal");
  const record = await readKey(credentials, team, c.req.param("id") ?? "");
  if (record === null) return fail(c, NO_SUCH_KEY);
  const hours = c.get("form").get("overlap_hours") ?? "";
  const key = { record, now: environment.now(), mine, confirm: "rotate", hours } as const;
  showFormOnProblem(c, (problem) => keyView({ ...key, problem }));
  const overlap = parseRotation(bodyOf({ overlap_hours: readInteger(hours) }));
  if (!overlap.ok) return fail(c, overlap.problem);
  const rotated = await credentials.rotate(team, record.id, overlap.value, mine);
  if (rotated === null) return fail(c, NO_SUCH_KEY);
  if (!rotated.ok) return fail(c, rotated.problem);
  const old = await credentials.read(team, record.id);
  return showSecret(c, rotated.value, {
    title: `${kindLabel(rotated.value.record)} rotated`,
    next: nextAfter(rotated.value),
    notice: old === null ? null : <OldSecret of={old} now={environment.now()} />,
  });
};

function OldSecret({ of, now }: { readonly of: ListedCredential; readonly now: number }) {
  const { endsAt } = of;
  return (
    <InlineNotice kind="good">
      {endsAt !== undefined && isLive(of, now)
        ? (
          <p>
            The old secret works and expires <Ago at={endsAt} now={now} />: exchange it before.
          </p>
        )
        : (
          <p>
            The old secret does not work any more: <KeyState of={of} now={now} />.
          </p>
        )}
    </InlineNotice>
  );
}

/** Redirects a reload of a secret's page to its key, because a secret is shown once. */
export const backToKey: Handler = (c) => {
  return seeOther(keyPath(c.req.param("id") ?? ""));
};

/** Revokes a credential and redirects to its page. */
export const submitRevokeKey: Handler = async (c, { credentials }) => {
  const { team, credentialId } = c.get("principal");
  const id = c.req.param("id") ?? "";
  const record = isKeyId(id) ? await credentials.revoke(team, id, credentialId) : null;
  return record === null ? fail(c, NO_SUCH_KEY) : seeOther(keyPath(record.id));
};

function KeyDetails({ record: of, now, mine }: KeyProps) {
  const state = (
    <>
      <KeyState of={of} now={now} />
      {of.id === mine ? " · you are signed in with it" : null}
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

function KeyForm({ record, mine, confirm, problem, hours }: KeyFormProps) {
  const { id, name, grant } = record;
  const isMine = id === mine;
  const kind = grant.kind === "api_key" ? "API key" : "ping token";
  const isRevocation = confirm === "revoke";
  return (
    <ConfirmForm
      action={`${KEYS_PATH}/${id}/${confirm}`}
      title={`${isRevocation ? "Revoke" : "Rotate"} “${name}”?`}
      submit={isRevocation ? `Revoke this ${kind}` : "Create a new secret"}
      submitClass={isRevocation ? "btn danger" : "btn main"}
      cancel="Keep it as it is"
      cancelTo={grant.kind === "ping_token" ? agentPath(grant.agent) : KEYS_PATH}
    >
      <FormProblem problem={problem} fields={["overlap_hours"]} />
      {isRevocation
        ? (
          <p>
            Calls with it are refused at once. This cannot be undone; to change it without a pause,
            {" "}
            <a href={keyPath(id, "rotate")}>rotate it</a>.
          </p>
        )
        : (
          <>
            <p>
              A new {kind}{" "}
              with the same grant replaces it and works at once. The old secret works for the hours
              that you choose, so that nothing stops while you exchange it.
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
          </>
        )}
      {isMine && (
        <InlineNotice kind={isRevocation ? "bad" : "warn"}>
          <p>
            You are signed in with this very key: {isRevocation
              ? "revoking it signs you out."
              : "you are signed out when the old secret expires."}
          </p>
        </InlineNotice>
      )}
    </ConfirmForm>
  );
}
