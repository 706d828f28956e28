/**
 * Advice for empty pages: a command that works as pasted, under `deno task dev` with the real key, and
 * there also sample runs.
 *
 * @module
 */
import { developmentKey } from "../../../domain/teams/credentials.ts";
import { clientOf } from "../../http/credential.ts";
import type { Visit } from "../layout/page.tsx";
import { KEYS_PATH, SAMPLES_PATH } from "../layout/paths.ts";
import { Copyable } from "./elements.tsx";
import { originOf } from "./format.ts";

/** The place of commands: the service and the key that they use. */
export type CommandTarget = Awaited<ReturnType<typeof commandTarget>>;

/** Returns where a command of the page's reader goes. No other secret is ever shown. */
export async function commandTarget({ c, deps, team, isAdmin: mayCreateKeys }: Visit) {
  const development = developmentKey(deps.region);
  const owner = deps.dev
    ? await deps.credentials.find(development, () => clientOf(c, development))
    : null;
  const isOwn = owner !== null && owner.team.id === team.id;
  return {
    origin: originOf(c),
    /** The development key, which is public; null elsewhere, where the reader has to fill one in. */
    key: isOwn ? development : null,
    mayCreateKeys,
    /** True if sample runs can be loaded into the reader's team. */
    hasSamples: isOwn && mayCreateKeys && deps.loadSamples !== null,
  };
}

/** Calls of the first commands: a complete run, a run that costs something, a check of all runs. */
const CALLS = {
  ping: ["ping?agent=hello"],
  cost: [
    "heartbeats",
    '{"agent":"hello","status":"ok","model":"gpt-4o","input_tokens":1200,"output_tokens":300}',
  ],
  check: ["checks/cheap-enough", '{"expression":"cost_usd < 0.50"}', "-X PUT "],
} satisfies Readonly<Record<string, readonly [path: string, body?: string, method?: string]>>;

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

/** Shows a command, and where its key comes from. */
export function FirstCommand({ id, call, target }: {
  readonly id: string;
  readonly call: keyof typeof CALLS;
  readonly target: CommandTarget;
}) {
  const [path, body = "", method = ""] = CALLS[call];
  const user = target.key === null ? '"$RUNLEDGER_KEY:"' : `${target.key}:`;
  const json = body === "" ? "" : ` -H "Content-Type: application/json" -d '${body}'`;
  const creator = target.mayCreateKeys
    ? <a href={KEYS_PATH}>create one</a>
    : "a team member with the scope admin creates them";
  return (
    <>
      <p>
        Paste this into a terminal.{" "}
        {target.key !== null ? "It works as it is: the key is yours." : (
          <>
            <code>RUNLEDGER_KEY</code> must hold a key with the scope{" "}
            <code>{call === "check" ? "admin" : "ingest"}</code>: {creator}.
          </>
        )}
      </p>
      <Copyable id={id} text={`curl ${method}-u ${user} "${target.origin}/v1/${path}"${json}`} />
    </>
  );
}
