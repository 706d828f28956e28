/**
 * How to fill empty pages: a command that works as pasted, under `deno task dev` with the real key,
 * and there also sample runs.
 *
 * @module
 */
import { developmentKey, type Principal, type Scope } from "../../../domain/teams/credentials.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import { clientOf } from "../../http/credential.ts";
import { KEYS_PATH, SAMPLES_PATH } from "../layout/paths.ts";
import { Copyable } from "./elements.tsx";
import { originOf } from "./format.ts";

/** The place of commands: the service and the key that they use. */
export interface CommandTarget {
  readonly origin: string;
  /** The development key, which is public; null elsewhere, where the reader has to fill one in. */
  readonly key: string | null;
  readonly mayCreateKeys: boolean;
  /** True if sample runs can be loaded into the reader's team. */
  readonly hasSamples: boolean;
}

/** Returns where a command of the page's reader goes. No other secret is ever shown. */
export async function commandTarget(
  { dev, region, credentials, loadSamples }: Pick<
    AppDeps,
    "dev" | "region" | "credentials" | "loadSamples"
  >,
  c: RequestContext,
): Promise<CommandTarget> {
  const principal = c.get("principal");
  const isAdmin = mayAdmin(principal);
  const target = { origin: originOf(c), key: null, mayCreateKeys: isAdmin, hasSamples: false };
  if (!dev) return target;
  const key = developmentKey(region);
  const owner: Principal | null = await credentials.find(key, () => clientOf(c, key));
  if (owner?.team.id !== principal.team.id) return target;
  return { ...target, key, hasSamples: isAdmin && loadSamples !== null };
}

/** A complete run in one call. */
export function pingCommand({ origin, key }: CommandTarget): string {
  return `curl -u ${keyArgument(key)} "${origin}/v1/ping?agent=hello"`;
}

/** A run with a model call, which costs something. */
export function costCommand({ origin, key }: CommandTarget): string {
  const body = '{"agent":"hello","status":"ok","model":"gpt-4o","input_tokens":1200,' +
    '"output_tokens":300}';
  return `curl -u ${keyArgument(key)} "${origin}/v1/heartbeats" ` +
    `-H "Content-Type: application/json" -d '${body}'`;
}

/** A check of all runs. */
export function checkCommand({ origin, key }: CommandTarget): string {
  return `curl -X PUT -u ${keyArgument(key)} "${origin}/v1/checks/cheap-enough" ` +
    `-H "Content-Type: application/json" -d '{"expression":"cost_usd < 0.50"}'`;
}

function keyArgument(key: string | null): string {
  return key === null ? '"$RUNLEDGER_KEY:"' : `${key}:`;
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
        <button type="submit" class="btn">Load sample runs</button>
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
export function FirstCommand(
  { id, text, target: { key, mayCreateKeys }, scope = "ingest" }: FirstCommandProps,
) {
  return (
    <>
      <p>
        {key !== null ? "Paste this into a terminal. It works as it is: the key is yours." : (
          <>
            Paste this into a terminal. <code>RUNLEDGER_KEY</code> must hold a key with the scope
            {" "}
            <code>{scope}</code>: {mayCreateKeys
              ? <a href={KEYS_PATH}>create one</a>
              : "a team member with the scope admin creates them"}.
          </>
        )}
      </p>
      <Copyable id={id} text={text} />
    </>
  );
}
