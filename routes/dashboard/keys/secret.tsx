/** The only page that shows a secret, with command lines that use it. */
import type { Child } from "hono/jsx";
import type { CredentialRecord } from "../../../domain/teams/credentials.ts";
import type { RequestContext } from "../../http/context.ts";
import type { View } from "../layout/page.ts";
import { agentPath, KEYS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { originOf } from "../components/format.ts";
import { Copyable, InlineNotice } from "../components/elements.tsx";
import { kindLabel } from "./labels.tsx";

/** A new credential with its secret. */
export interface NewSecret {
  readonly record: CredentialRecord;
  readonly secret: string;
}

interface SecretView extends Pick<View, "title"> {
  /** Path and label of the link to the next page. */
  readonly next: readonly [path: string, label: string];
  /** A notice about the replaced secret. */
  readonly notice?: Child;
}

/** Shows a new secret. No other response contains it. */
export function showSecret(c: RequestContext, created: NewSecret, view: SecretView): Response {
  const { record, secret } = created;
  const { title, next: [path, label], notice = null } = view;
  const body = (
    <>
      <InlineNotice kind="warn">
        <p>
          <strong>Copy the secret now: it is shown this once.</strong>{" "}
          Only its hash is stored. If you lose it, create another.
        </p>
      </InlineNotice>
      {notice}
      <h2>{kindLabel(record)} “{record.name}”</h2>
      <Copyable id="secret" text={secret} />
      {linesOf(created, originOf(c)).map(([title, text], i) => (
        <>
          <h2>{title}</h2>
          <Copyable id={`line-${i}`} text={text} />
        </>
      ))}
      <p>
        I have copied it: <a href={path}>{label}</a>
      </p>
    </>
  );
  return showPage(c, { title, status: 201, body });
}

/** Builds command lines for a shell or a crontab that run unchanged, with their titles. */
function linesOf({ record: { grant }, secret }: NewSecret, origin: string) {
  if (grant.kind === "ping_token") {
    const token = `RUNLEDGER_TOKEN=${secret}\n`;
    const ping = (query: string) =>
      `curl -sS --fail-with-body -m 10 --retry 3 -u "$RUNLEDGER_TOKEN:" "${origin}/v1/ping${query}"`;
    return [
      [
        "In a crontab, after the job",
        // Cron mails what a line prints, so it prints nothing but problems.
        `${token}0 3 * * * /path/to/job; ${ping("?exit_code=$?")} | grep -vx OK`,
      ],
      ["Try it", token + ping("")],
    ] as const;
  }
  const use = 'curl -sS -u "$RUNLEDGER_KEY:"';
  const line = grant.scopes.includes("ingest")
    ? `${use} ${origin}/v1/heartbeats -d '{"agent":"my-agent","status":"ok"}'`
    : `${use} "${origin}/v1/${grant.scopes.includes("read") ? "runs" : "keys"}?limit=5"`;
  return [["Try it", `RUNLEDGER_KEY=${secret}\n${line}`]] as const;
}

/** Returns the link to the page to open after a secret. */
export function nextAfter({ record: { grant } }: NewSecret): SecretView["next"] {
  return grant.kind === "ping_token"
    ? [agentPath(grant.agent), "to the agent"]
    : [KEYS_PATH, "to all keys"];
}
