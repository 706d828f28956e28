/**
 * The start of a process up to its open ledger, for the service and for the step before a rollout.
 * Each failure ends the process with its reason.
 *
 * @module
 */
import { dirname } from "node:path";
import type { Environment } from "../domain/core/environment.ts";
import { isOfStore } from "../domain/core/errors.ts";
import type { Memory } from "../runtime/memory.ts";
import { makeFolder } from "../kv/base/files.ts";
import { adviceFor, isShared } from "../kv/location.ts";
import { type OpenStore, openStore, withAccessToken } from "../kv/open.ts";
import { messageOf, StoreOffline, StoreRefused } from "../kv/refused.ts";
import { type Config, KEY_REQUIRED, KV_DEFAULT, parseConfig } from "./config.ts";
import { EXIT, fatal, say } from "./console.ts";
import { DENO_MIN, isSupported } from "./platform.ts";
import { ensureFirstTeam, KeyRequired } from "../kv/teams/teams.ts";

/** Clock and random numbers of the process. */
export const ENVIRONMENT: Environment = {
  now: () => Date.now(),
  random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
};

/** Parses the settings of the process. */
export async function readConfig(): Promise<Config> {
  const { deno } = Deno.version;
  if (!isSupported(deno)) {
    return await fatal(EXIT.settings, [`Runledger needs Deno ${DENO_MIN} or newer, not ${deno}`]);
  }
  const parsed = parseConfig(Deno.env.toObject(), Deno.args);
  return parsed.ok ? parsed.config : await refuseSettings(parsed.problems);
}

const NO_KV = "No KV database is attached to this app: assign one to it on Deno Deploy, or set " +
  "RUNLEDGER_KV to the URL of another one, then deploy again";

/** Variable with text that the runtime puts before each location, also before a URL. */
const PREFIX_VARIABLE = "DENO_KV_PATH_PREFIX";

export async function openLedger(config: Config, memory: Memory): Promise<OpenStore> {
  const { kv, kvToken, hasAttachedKv } = config;
  // Without one, the runtime would open a file or a database in memory.
  if (kv.kind === "platform" && !hasAttachedKv) return await fatal(EXIT.store, [NO_KV]);
  if (kv.kind === "url") Deno.env.delete(PREFIX_VARIABLE);
  if (config.dev && kv.name === KV_DEFAULT) await makeFolder(dirname(KV_DEFAULT));
  // With a prefix the runtime would open a file or a URL instead of memory.
  const hasBell = !isShared(kv) && Deno.env.get(PREFIX_VARIABLE) === undefined;
  return await withAccessToken(kvToken, () => openStore(kv, memory, { hasBell }))
    .catch((error) => refuseStore(config, error));
}

/** Ensures that the first team exists and has a key; returns what this start stored. */
export async function ensureFirstKey(config: Config, store: OpenStore) {
  const options = { ...config, isShared: isShared(config.kv) };
  const first = await ensureFirstTeam(store, ENVIRONMENT, options)
    .catch((error) => refuseStore(config, error));
  if (store.isNew) say(`Created a new ledger at ${config.kv.name}`);
  return first;
}

function refuseSettings(problems: readonly string[]): Promise<never> {
  return fatal(EXIT.settings, ["Cannot start with these settings:", ...problems]);
}

/** Exits with the reason why the store cannot be used. */
function refuseStore({ kv }: Config, error: unknown): Promise<never> {
  if (error instanceof KeyRequired) return refuseSettings([KEY_REQUIRED]);
  if (error instanceof StoreRefused) {
    return fatal(error instanceof StoreOffline ? EXIT.retry : EXIT.store, [error.message]);
  }
  if (!isOfStore(error)) throw error;
  return fatal(EXIT.retry, [`Cannot use ${kv.name}: ${messageOf(error)}: ${adviceFor(kv)}`]);
}
