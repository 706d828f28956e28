/** The only page that shows a secret, with command lines that use it. */
import type { Child } from "hono/jsx";
import type { CredentialRecord } from "../../../domain/teams/credentials.ts";
import type { RequestContext } from "../../http/context.ts";
import type { View } from "../layout/page.ts";
import { agentPath, KEYS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { originOf } from "../components/origin.ts";
import { Copyable, InlineNotice } from "../components/elements.tsx";
import { kindLabel } from "./labels.tsx";

/** A new credential with its secret. */
export interface NewSecret {
  readonly record: CredentialRecord;
  readonly secret: string;
}

interface SecretView extends Pick<View, "title"> {
  /** The link to the next page. */
  readonly next: Child;
  /** A notice about the replaced secret. */
  readonly children?: Child;
}

/** Shows a new secret. No other response contains it. */
export function showSecret(c: RequestContext, created: NewSecret, view: SecretView): Response {
  const { record, secret } = created;
  const origin = originOf(c);
  const body = (
    <>
      <InlineNotice kind="warn">
        <p>
          <strong>Copy the secret now: it is shown this once.</strong>{" "}
          Only its hash is stored. If you lose it, create another.
        </p>
      </InlineNotice>
      {view.children ?? null}
      <h2>{kindLabel(record)} “{record.name}”</h2>
      <Copyable id="secret" text={secret} />
      {linesOf(created, origin).map(({ title, text }, i) => (
        <>
          <h2>{title}</h2>
          <Copyable id={`line-${i}`} text={text} />
        </>
      ))}
      <p>{view.next}</p>
    </>
  );
  return showPage(c, { title: view.title, status: 201, body });
}

/** Builds command lines for a shell or a crontab that run unchanged. */
function linesOf({ record: { grant }, secret }: NewSecret, origin: string) {
  if (grant.kind === "ping_token") return pingLines(secret, origin);
  const use = 'curl -sS -u "$RUNLEDGER_KEY:"';
  const line = grant.scopes.includes("ingest")
    ? `${use} ${origin}/v1/heartbeats -d '{"agent":"my-agent","status":"ok"}'`
    : grant.scopes.includes("read")
    ? `${use} "${origin}/v1/runs?limit=5"`
    : `${use} "${origin}/v1/keys?limit=5"`;
  return [{ title: "Try it", text: `RUNLEDGER_KEY=${secret}\n${line}` }];
}

/** Builds command lines that send the exit code of a job. */
function pingLines(secret: string, origin: string) {
  const ping = (query: string) =>
    `curl -fsS -m 10 --retry 3 -u "$RUNLEDGER_TOKEN:" "${origin}/v1/ping${query}"`;
  return [
    {
      title: "In a crontab, after the job",
      text: `RUNLEDGER_TOKEN=${secret}\n0 3 * * * /path/to/job; ${ping("?exit_code=$?")}`,
    },
    { title: "Try it", text: `RUNLEDGER_TOKEN=${secret}\n${ping("")}` },
  ];
}

/** Links to the page to open after a secret. */
export function backFrom({ record: { grant } }: NewSecret) {
  const [to, name] = grant.kind === "ping_token"
    ? [agentPath(grant.agent), "to the agent"]
    : [KEYS_PATH, "to all keys"];
  return (
    <>
      I have copied it: <a href={to}>{name}</a>
    </>
  );
}
