/**
 * Caches what commits of a team's runs need: its rules, channels, silences and compiled checks, the
 * numbers of its instances, the instances themselves, and counts of check results.
 *
 * The version of a team's roll-ups covers all of these rows: every commit that changes one changes
 * it. So a good run of a team without instances costs no read.
 *
 * @module
 */
import type { AlertChange, LackingRows } from "../../domain/alerts/decide.ts";
import type { Incident } from "../../domain/alerts/incident.ts";
import type { AlertInstance } from "../../domain/alerts/instance.ts";
import type { TeamCounts } from "../../domain/alerts/rule.ts";
import { DEFAULT_RULES } from "../../domain/alerts/rules.ts";
import type { AlertSignal } from "../../domain/alerts/signal.ts";
import type { AlertConfig } from "../../domain/alerts/touched.ts";
import type { Check, CompiledCheck } from "../../domain/checks/check.ts";
import { compiledCheck } from "../../domain/checks/compile.ts";
import type { Patterns } from "../../domain/checks/program.ts";
import type { RunId, TeamId } from "../../domain/core/ids.ts";
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
import { earlierOutcomes } from "./earlier_outcomes.ts";
import { decodeIncident, decodeInstance } from "./rows.ts";
import { readError } from "./run_errors.ts";
import { wereUnpriced } from "./unpriced_calls.ts";

/** Bytes of a team without its rows, of an object besides its texts, and of an instance. */
const TEAM_BYTES = 400, OBJECT_BYTES = 1_000, INSTANCE_BYTES = 600, OUTCOME_BYTES = 250;

/** The configuration of a team: its objects, enabled rules by kind, and enabled checks, compiled. */
export interface PreparedConfig extends AlertConfig, Omit<TeamConfig, "checks"> {
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
  readonly config: PreparedConfig;
  /** Numbers of instances. */
  readonly counts: TeamCounts;
  /** Instances by the name of their group; null for none. */
  readonly instances: SizedMap<AlertInstance | null>;
  /** Counts of check results. */
  readonly checkDays: CheckDays;
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
    const [config, counts] = await getMany(this.#store, [keys.config(team), keys.alertState(team)]);
    const loaded: TeamAlerts = {
      version,
      config: await this.#configOf(team, config?.value as number | null ?? 0, known?.config),
      counts: counts?.value as TeamCounts | null ?? {},
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
  remember(team: TeamId, before: string | null, after: string, change?: AlertChange): void {
    const known = this.#get(team);
    if (known === undefined || known.version !== before) return;
    // A team that exceeds its share loses its cached rows.
    const { bytes } = known.instances;
    const isLarge = bytes + known.checkDays.bytes > this.#teams.maxEntrySize / 2;
    const next = { ...known, ...isLarge ? noRows() : {} };
    for (const [name, { after }] of change?.instances ?? []) next.instances.set(name, after);
    this.#set(team, { ...next, version: after, counts: change?.counts ?? known.counts });
  }

  #get(team: TeamId): TeamAlerts | undefined {
    return this.#teams.get(team) ?? (this.#large?.team === team ? this.#large.alerts : undefined);
  }

  #set(team: TeamId, alerts: TeamAlerts): void {
    this.#teams.set(team, alerts);
    if (!this.#teams.has(team)) this.#large = { team, alerts };
    else if (this.#large?.team === team) this.#large = null;
  }

  async #configOf(
    team: TeamId,
    version: number,
    known: PreparedConfig | undefined,
  ): Promise<PreparedConfig> {
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
  known: PreparedConfig | undefined,
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

function prepared(config: TeamConfig, checks: readonly CompiledCheck[]): PreparedConfig {
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

/** Rows of a decision that grow until it lacks none. */
export interface GrowingRows {
  readonly instances: Map<string, AlertInstance | null>;
  readonly incidents: Map<string, Incident | null>;
  readonly earlier: Map<string, readonly AlertSignal[]>;
  readonly unpriced: Map<string, boolean>;
  readonly errors: Map<RunId, string | null>;
}

/**
 * Reads the rows that a decision lacks.
 *
 * @param rows receives them
 * @param changing runs that the commit changes
 */
export async function readLacking(
  store: Store,
  team: TeamId,
  rows: GrowingRows,
  lacking: LackingRows,
  changing: ReadonlySet<RunId>,
): Promise<void> {
  const [groups, ids] = [[...lacking.instances], [...lacking.incidents]];
  const stored = await getAll(store, [
    ...groups.map(([, { rule, group }]) => keys.alert(team, rule, group)),
    ...ids.map((id) => keys.incident(team, id)),
  ]);
  const values = stored.map(({ value }) => value);
  for (const [i, [name]] of groups.entries()) rows.instances.set(name, decodeInstance(values[i]));
  for (const [i, id] of ids.entries()) {
    rows.incidents.set(id, decodeIncident(values[groups.length + i]));
  }
  for (const [name, group] of lacking.earlier) {
    rows.earlier.set(name, await earlierOutcomes(store, team, group, changing));
  }
  for (const [name, signals] of lacking.unpriced) {
    rows.unpriced.set(name, await wereUnpriced(store, team, signals));
  }
  for (const run of lacking.errors) rows.errors.set(run, await readError(store, team, run));
}
