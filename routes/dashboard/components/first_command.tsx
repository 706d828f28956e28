/**
 * Advice for empty pages: a command that works as pasted, under `deno task dev` with the real key, and
 * there also sample runs.
 *
 * @module
 */
import { developmentKey, type Scope } from "../../../domain/teams/credentials.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import { clientOf } from "../../http/credential.ts";
import { KEYS_PATH, SAMPLES_PATH } from "../layout/paths.ts";
import { Copyable } from "./elements.tsx";
import { originOf } from "./format.ts";

/** The place of commands: the service and the key that they use. */
export type CommandTarget = Awaited<ReturnType<typeof commandTarget>>;

/** Returns where a command of the page's reader goes. No other secret is ever shown. */
export async function commandTarget(deps: AppDeps, c: RequestContext) {
  const principal = c.get("principal");
  const mayCreateKeys = mayAdmin(principal);
  const development = developmentKey(deps.region);
  const owner = deps.dev
    ? await deps.credentials.find(development, () => clientOf(c, development))
    : null;
  const isOwn = owner !== null && owner.team.id === principal.team.id;
  return {
    origin: originOf(c),
    /** The development key, which is public; null elsewhere, where the reader has to fill one in. */
    key: isOwn ? development : null,
    mayCreateKeys,
    /** True if sample runs can be loaded into the reader's team. */
    hasSamples: isOwn && mayCreateKeys && deps.loadSamples !== null,
  };
}

function curl({ origin, key }: CommandTarget, path: string, body = "", method = ""): string {
  const user = key === null ? '"$RUNLEDGER_KEY:"' : `${key}:`;
  const json = body === "" ? "" : ` -H "Content-Type: application/json" -d '${body}'`;
  return `curl ${method}-u ${user} "${origin}/v1/${path}"${json}`;
}

/** A complete run in one call. */
export function pingCommand(target: CommandTarget): string {
  return curl(target, "ping?agent=hello");
}

/** A run with a model call, which costs something. */
export function costCommand(target: CommandTarget): string {
  const call = '"model":"gpt-4o","input_tokens":1200,"output_tokens":300';
  return curl(target, "heartbeats", `{"agent":"hello","status":"ok",${call}}`);
}

/** A check of all runs. */
export function checkCommand(target: CommandTarget): string {
  return curl(target, "checks/cheap-enough", '{"expression":"cost_usd < 0.50"}', "-X PUT ");
}

/** Id of the form of the sample runs: a page that polls waits for it. */
export const SAMPLES_ID = "samples";

/** Offers sample runs to a team that has none of its own. */
export function SampleRuns({ of }: { readonly of: CommandTarget }) {
  if (!of.hasSamples) return null;
  return (
    <form
      id={SAMPLES_ID}
      method="post"
      action={SAMPLES_PATH}
      hx-post={SAMPLES_PATH}
      hx-swap="none"
      hx-disabled-elt="find button"
    >
      <p>
        Or look around first: 30 days of 11 agents, with failures, alerts and costs. Nothing leaves
        this machine; to remove them, stop the service and delete its ledger.
      </p>
      <p>
        <button type="submit" class="btn">Load sample runs</button>{" "}
        <span class="loading" role="status">Loading; this takes up to a minute.</span>
      </p>
    </form>
  );
}

interface FirstCommandProps {
  readonly id: string;
  readonly text: string;
  readonly target: CommandTarget;
  /** The scope that the key must have. */
  readonly scope?: Scope;
}

/** Shows a command, and where its key comes from. */
export function FirstCommand({ id, text, target, scope = "ingest" }: FirstCommandProps) {
  const creator = target.mayCreateKeys
    ? <a href={KEYS_PATH}>create one</a>
    : "a team member with the scope admin creates them";
  return (
    <>
      <p>
        Paste this into a terminal.{" "}
        {target.key !== null ? "It works as it is: the key is yours." : (
          <>
            <code>RUNLEDGER_KEY</code> must hold a key with the scope <code>{scope}</code>:{" "}
            {creator}.
          </>
        )}
      </p>
      <Copyable id={id} text={text} />
    </>
  );
}
