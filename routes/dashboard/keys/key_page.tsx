/** One credential: its page, the forms that rotate and revoke it, and the page that shows a secret once. */
import type { Child } from "hono/jsx";
import { isLive } from "../../../domain/teams/credentials.ts";
import { existing, type Problem } from "../../../domain/core/errors.ts";
import { OVERLAP_HOURS } from "../../../domain/core/limits.ts";
import { type ListedCredential, parseRotation } from "../../../domain/teams/key_list.ts";
import type { RequestContext } from "../../http/context.ts";
import { NO_SUCH_KEY } from "../../api/keys/keys.ts";
import { type PageHandler, seeOther, type View, type Visit } from "../layout/page.tsx";
import { agentPath, keyPath, KEYS_PATH } from "../layout/paths.ts";
import { Ago, Copyable, Crumbs, InlineNotice, KeyValues } from "../components/elements.tsx";
import { bodyOf, formOf, FormProblem, readInteger } from "../components/form_fields.tsx";
import { confirmedIn, ConfirmForm } from "../components/table.tsx";
import { keyActions, keyGrant, keyState, kindLabel, lastUse, SCOPE_LABELS } from "./labels.tsx";
import { originOf } from "../components/format.ts";
import type { CredentialStore } from "../../../kv/teams/credentials.ts";

/** Shows the page of one credential, with the form that the address asks for. */
export const showKey: PageHandler = async (visit) => {
  const { c, deps: { credentials, environment }, team } = visit;
  const record = existing(await credentials.read(team, c.req.query("id") ?? ""), NO_SUCH_KEY);
  const confirm = isLive(record, environment.now()) ? confirmedIn(c, "rotate", "revoke") : null;
  return keyView(visit, record, confirm);
};

/** Rotates a credential and shows the new secret, or the form again. */
export const submitRotateKey: PageHandler = async (visit) => {
  const { c, deps: { credentials, environment }, team, credentialId, onProblem } = visit;
  const record = existing(await credentials.read(team, c.req.param("id") ?? ""), NO_SUCH_KEY);
  const hours = c.get("form").get("overlap_hours") ?? "";
  onProblem((problem) => keyView(visit, record, "rotate", hours, problem));
  const overlap = parseRotation(bodyOf({ overlap_hours: readInteger(hours) }));
  const rotated = await credentials.rotate(team, record.id, overlap, credentialId);
  const old = await credentials.read(team, record.id);
  return showSecret(c, existing(rotated, NO_SUCH_KEY), {
    title: `${kindLabel(record)} rotated`,
    notice: old !== null && (
      <InlineNotice kind="good">The old secret {keyState(old, environment.now())}.</InlineNotice>
    ),
  });
};

/** Redirects a reload of a secret's page to its key, because a secret is shown once. */
export const backToKey: PageHandler = ({ c }) => seeOther(keyPath(c.req.param("id") ?? ""));

/** Revokes a credential and redirects to its page. */
export const submitRevokeKey: PageHandler = async ({ c, deps, team, credentialId }) => {
  const revoked = await deps.credentials.revoke(team, c.req.param("id") ?? "", credentialId);
  return seeOther(keyPath(existing(revoked, NO_SUCH_KEY).id));
};

function keyView(
  { c, credentialId }: Visit,
  record: ListedCredential,
  form: "rotate" | "revoke" | null,
  hours = String(OVERLAP_HOURS.default),
  problem: Problem | null = null,
): View {
  const { nowMs } = c.get("frame");
  const { id, grant, createdAt, replaces } = record;
  const isOwn = id === credentialId;
  const scopes = grant.kind === "api_key" ? grant.scopes : [];
  const older = replaces !== undefined &&
    [", replaces ", <a href={keyPath(replaces)}>an older one</a>];
  return {
    title: record.name,
    crumbs: <Crumbs links={[["Keys", KEYS_PATH]]} />,
    body: [
      <KeyValues
        pairs={[
          ["State", [keyState(record, nowMs), isOwn && " · you are signed in with it"]],
          ["Allows", keyGrant(record)],
          ...scopes.map((scope) => [<code>{scope}</code>, SCOPE_LABELS[scope][1]] as const),
          ["Created", [<Ago at={createdAt} />, older]],
          ["Last used", lastUse(record)],
          ["Id", <code>{id}</code>],
        ]}
      />,
      form === null && keyActions(record, nowMs),
      form === "rotate" && rotateForm(record, isOwn, hours, problem),
      form === "revoke" && revokeForm(record, isOwn),
    ],
  };
}

function rotateForm(
  { id, name }: ListedCredential,
  isOwn: boolean,
  hours: string,
  problem: Problem | null,
) {
  const { max } = OVERLAP_HOURS;
  const [min, hint] = isOwn
    ? [1, `1 to ${max}; to end it earlier, revoke it with the new secret.`] as const
    : [0, `0 revokes it now; at most ${max}.`] as const;
  const { text } = formOf({ overlap_hours: hours }, problem);
  const range = { type: "number", min, max, hint } as const;
  return (
    <ConfirmForm
      action={`${KEYS_PATH}/${id}/rotate`}
      title={`Rotate “${name}”?`}
      submit="Create a new secret"
      submitClass="btn main"
      cancelTo={keyPath(id)}
    >
      <FormProblem problem={problem} fields={["overlap_hours"]} />
      <p>
        A new secret with the same grant works at once. The old secret works for the hours that you
        choose, so that nothing stops while you exchange it.
      </p>
      {text("overlap_hours", "Hours until the old secret expires", range)}
      {isOwn && ownKey("warn", "you are signed out when the old secret expires.")}
    </ConfirmForm>
  );
}

function revokeForm({ id, name, grant }: ListedCredential, isOwn: boolean) {
  return (
    <ConfirmForm
      action={`${KEYS_PATH}/${id}/revoke`}
      title={`Revoke “${name}”?`}
      submit={`Revoke this ${grant.kind === "api_key" ? "API key" : "ping token"}`}
      cancelTo={keyPath(id)}
    >
      <p>
        Calls with it are refused at once. This cannot be undone; to change it without a pause,{" "}
        <a href={keyPath(id, "rotate")}>rotate it</a>.
      </p>
      {isOwn && ownKey("bad", "revoking it signs you out.")}
    </ConfirmForm>
  );
}

/** Warns that a form changes the key of the session. */
function ownKey(kind: "warn" | "bad", effect: string) {
  return <InlineNotice kind={kind}>You are signed in with this very key: {effect}</InlineNotice>;
}

type NewSecret = Awaited<ReturnType<CredentialStore["create"]>>;

/** Shows a new secret. No other response contains it. */
export function showSecret(c: RequestContext, created: NewSecret, view: {
  readonly title: string;
  /** Path and label of the link to the next page; by default the agent or the list of keys. */
  readonly next?: readonly [path: string, label: string];
  /** A notice about the replaced secret. */
  readonly notice?: Child;
}): View {
  const { record, secret } = created;
  const next = record.grant.kind === "ping_token"
    ? [agentPath(record.grant.agent), "to the agent"]
    : [KEYS_PATH, "to all keys"];
  const [path, label] = view.next ?? next;
  const body = [
    <InlineNotice kind="warn">
      <strong>Copy the secret now: it is shown this once.</strong>{" "}
      Only its hash is stored. If you lose it, create another.
    </InlineNotice>,
    view.notice,
    <h2>{kindLabel(record)} “{record.name}”</h2>,
    <Copyable id="secret" text={secret} />,
    commandsOf(created, originOf(c)).map(([title, text], i) => (
      <>
        <h2>{title}</h2>
        <Copyable id={`line-${i}`} text={text} />
      </>
    )),
    <p>
      I have copied it: <a href={path}>{label}</a>
    </p>,
  ];
  return { title: view.title, status: 201, body };
}

/** Builds command lines for a shell or a crontab that run unchanged, with their titles. */
function commandsOf({ record: { grant }, secret }: NewSecret, origin: string): [string, string][] {
  if (grant.kind === "ping_token") {
    const token = `RUNLEDGER_TOKEN=${secret}\n`;
    const ping = (query: string) =>
      `curl -sS --fail-with-body -m 10 --retry 3 -u "$RUNLEDGER_TOKEN:" "${origin}/v1/ping${query}"`;
    // Cron mails what a line prints, so it prints nothing but problems.
    const line = `${token}0 3 * * * /path/to/job; ${ping("?exit_code=$?")} | grep -vx OK`;
    return [["In a crontab, after the job", line], ["Try it", token + ping("")]];
  }
  const read = `${origin}/v1/${grant.scopes.includes("read") ? "runs" : "keys"}?limit=5`;
  const call = grant.scopes.includes("ingest")
    ? `${origin}/v1/heartbeats -d '{"agent":"my-agent","status":"ok"}'`
    : `"${read}"`;
  return [["Try it", `RUNLEDGER_KEY=${secret}\ncurl -sS -u "$RUNLEDGER_KEY:" ${call}`]];
}
