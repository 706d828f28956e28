/**
 * Caches what commits of a team's runs need: its rules, channels, silences and compiled checks, the
 * numbers of its instances, the instances themselves, and counts of check results.
 *
 * The version of a team's roll-ups covers all of these rows: every commit that changes one changes
 * it. So a good run of a team without instances costs no read.
 *
 * @module
 */
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import type { Rule, RuleKind } from "../../domain/alerts/rule.ts";
import { DEFAULT_RULES } from "../../domain/alerts/rules.ts";
import type { Check, CompiledCheck } from "../../domain/checks/check.ts";
import { compiledCheck } from "../../domain/checks/compile.ts";
import type { Patterns } from "../../domain/checks/program.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import {
  type ByteCache,
  BYTES_PER_CHAR,
  createByteCache,
  SizedMap,
} from "../../runtime/byte_cache.ts";
import { keys } from "../base/keys.ts";
import { bytesOfDay, type CheckDays } from "../checks/day_counts.ts";
import { readConfig, type TeamConfig } from "../config/objects.ts";
import { getAll, getMany, type Store } from "../store.ts";
import { type AlertState, decodeInstance } from "./rows.ts";

/** Bytes of a team without its rows, of an object besides its texts, and of an instance. */
const TEAM_BYTES = 400, OBJECT_BYTES = 1_000, INSTANCE_BYTES = 600, OUTCOME_BYTES = 250;

/** The configuration of a team: its objects, enabled rules by kind, and enabled checks, compiled. */
export interface AlertConfig extends Omit<TeamConfig, "checks"> {
  readonly byKind: ReadonlyMap<RuleKind, readonly Rule[]>;
  /** Enabled checks, by slug. */
  readonly checks: readonly CompiledCheck[];
  /** Identifiers of all checks. */
  readonly checkIds: ReadonlySet<string>;
  /** Bytes in memory. */
  readonly bytes: number;
}

/** Cached alerts of a team. */
export interface TeamAlerts {
  /** Version of the team's roll-ups at which all of this is current. */
  readonly version: string | null;
  readonly config: AlertConfig;
  readonly state: AlertState;
  /** Instances by rule and group; null for none. */
  readonly instances: SizedMap<AlertInstance | null>;
  /** Counts of check results. */
  readonly checkDays: CheckDays;
}

/** Changed rows, to cache. */
export type AlertChanges = Pick<TeamAlerts, "state"> & {
  /** Changed instances by rule and group; null for a removed one. */
  readonly changed: ReadonlyMap<string, AlertInstance | null>;
};

/** Returns the name of an instance within its team. */
export function instanceName(rule: string, group: string): string {
  return `${rule} ${group}`;
}

/** Version of a team that must be read again; the store has none like it. */
const FORGOTTEN = "";

/** Configuration of a team that has set nothing; teams share it. */
const DEFAULT_CONFIG = prepared({
  version: 0,
  rules: DEFAULT_RULES,
  channels: [],
  silences: [],
  checks: [],
}, []);

/** Cache of all teams' alerts. */
export class AlertCache {
  readonly #store: Store;
  readonly #teams: ByteCache<TeamId, TeamAlerts>;
  /** The latest team that is too large for the cache: a commit asks for it several times. */
  #large: { readonly team: TeamId; readonly alerts: TeamAlerts } | null = null;

  constructor(store: Store) {
    this.#store = store;
    this.#teams = createByteCache({
      memory: store.memory,
      share: "alerts",
      bytesOf: ({ config, instances, checkDays }, team) =>
        TEAM_BYTES + config.bytes + instances.bytes + checkDays.bytes +
        BYTES_PER_CHAR * team.length,
    });
  }

  /** Returns a team's alerts under a version of its roll-ups. */
  async of(team: TeamId, version: string | null): Promise<TeamAlerts> {
    const known = this.#get(team);
    if (known !== undefined && known.version === version) return known;
    const [config, state] = await getMany(this.#store, [keys.config(team), keys.alertState(team)]);
    const loaded: TeamAlerts = {
      version,
      config: await this.#configOf(team, config?.value as number | null ?? 0, known?.config),
      state: state?.value as AlertState | null ?? {},
      ...noRows(),
    };
    this.#set(team, loaded);
    return loaded;
  }

  /** Drops the rows of a team, after a commit that changed them in another way. */
  forget(team: TeamId): void {
    const known = this.#get(team);
    // Its checks stay compiled, for those that did not change.
    if (known !== undefined) this.#set(team, { ...known, ...noRows(), version: FORGOTTEN });
  }

  /** Notes that a commit has changed the version, and these rows alone. */
  remember(team: TeamId, before: string | null, after: string, changes?: AlertChanges): void {
    const known = this.#get(team);
    if (known === undefined || known.version !== before) return;
    // A team that exceeds its share loses its cached rows.
    const { bytes } = known.instances;
    const isLarge = bytes + known.checkDays.bytes > this.#teams.maxEntrySize / 2;
    const next = { ...known, ...isLarge ? noRows() : {} };
    for (const [name, instance] of changes?.changed ?? []) next.instances.set(name, instance);
    this.#set(team, { ...next, version: after, state: changes?.state ?? known.state });
  }

  #get(team: TeamId): TeamAlerts | undefined {
    return this.#teams.get(team) ?? (this.#large?.team === team ? this.#large.alerts : undefined);
  }

  #set(team: TeamId, alerts: TeamAlerts): void {
    this.#teams.set(team, alerts);
    if (!this.#teams.has(team)) this.#large = { team, alerts };
    else if (this.#large?.team === team) this.#large = null;
  }

  /** Reads instances that are not cached, so that all of these are. */
  async load(
    team: TeamId,
    { instances }: TeamAlerts,
    wanted: readonly { readonly rule: string; readonly group: string }[],
  ): Promise<void> {
    const missing = wanted.filter(({ rule, group }) => !instances.has(instanceName(rule, group)));
    const found = await getAll(
      this.#store,
      missing.map(({ rule, group }) => keys.alert(team, rule, group)),
    );
    for (const [i, { rule, group }] of missing.entries()) {
      instances.set(instanceName(rule, group), decodeInstance(found[i]?.value));
    }
  }

  async #configOf(
    team: TeamId,
    version: number,
    known: AlertConfig | undefined,
  ): Promise<AlertConfig> {
    if (version === 0) return DEFAULT_CONFIG;
    if (known?.version === version) return known;
    const config = await readConfig(this.#store, team);
    return prepared(config, await compiledChecks(config, known, this.#store.patterns));
  }
}

/**
 * Compiles the enabled checks of a team. Other work gets a turn after each: a hostile one takes long.
 *
 * @param known the configuration that it replaces: unchanged checks stay compiled
 */
async function compiledChecks(
  { checks }: TeamConfig,
  known: AlertConfig | undefined,
  patterns: Patterns,
): Promise<readonly CompiledCheck[]> {
  const nameOf = ({ id, version }: Pick<Check, "id" | "version">) => `${id} ${version}`;
  const unchanged = new Map(known?.checks.map((check) => [nameOf(check), check]));
  const compiled: CompiledCheck[] = [];
  for (const check of checks) {
    if (!check.settings.enabled) continue;
    const same = unchanged.get(nameOf(check));
    compiled.push(same ?? compiledCheck(check, patterns));
    if (same === undefined) await new Promise((resolve) => setTimeout(resolve));
  }
  return compiled;
}

function prepared(config: TeamConfig, checks: readonly CompiledCheck[]): AlertConfig {
  const enabled = config.rules.filter(({ settings }) => settings.enabled);
  const byKind = Map.groupBy(enabled, ({ settings }) => settings.condition.kind);
  const programs = checks.reduce((sum, { program }) => sum + program.bytes, 0);
  return {
    ...config,
    byKind,
    checks,
    checkIds: new Set(config.checks.map(({ id }) => id ?? "")),
    bytes: bytesOfConfig(config) + programs,
  };
}

function bytesOfConfig({ version, rules, channels, silences, checks }: TeamConfig): number {
  if (version === 0) return 0;
  const objects = [...rules, ...channels, ...silences, ...checks];
  const bytesOf = (object: unknown) =>
    OBJECT_BYTES + BYTES_PER_CHAR * JSON.stringify(object).length;
  return objects.reduce((sum, object) => sum + bytesOf(object), 0);
}

/** Returns caches without rows. */
function noRows(): Pick<TeamAlerts, "instances" | "checkDays"> {
  return {
    instances: new SizedMap((instance) =>
      instance === null ? 0 : INSTANCE_BYTES + OUTCOME_BYTES * instance.outcomes.kept.length
    ),
    checkDays: new SizedMap(bytesOfDay),
  };
}
