/** The command of empty pages: it works as pasted, under `deno task dev` with the real key. */
import { developmentKey, type Principal, type Scope } from "../../../domain/teams/credentials.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { mayAdmin } from "../../http/access.ts";
import { clientOf } from "../../http/credential.ts";
import { KEYS_PATH } from "../layout/paths.ts";
import { Copyable } from "./elements.tsx";
import { originOf } from "./origin.ts";

/** The place of commands: the service and the key that they use. */
export interface CommandTarget {
  readonly origin: string;
  /** The development key, which is public; null elsewhere, where the reader has to fill one in. */
  readonly key: string | null;
  readonly mayCreateKeys: boolean;
}

/** Returns where a command of the page's reader goes. No other secret is ever shown. */
export async function commandTarget(
  { dev, region, credentials }: Pick<AppDeps, "dev" | "region" | "credentials">,
  c: RequestContext,
): Promise<CommandTarget> {
  const principal = c.get("principal");
  const target = { origin: originOf(c), key: null, mayCreateKeys: mayAdmin(principal) };
  if (!dev) return target;
  const key = developmentKey(region);
  const owner: Principal | null = await credentials.find(key, () => clientOf(c, key));
  return owner?.team.id === principal.team.id ? { ...target, key } : target;
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
