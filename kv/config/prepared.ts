/**
 * The configuration of teams, prepared for the commits of their runs: rules by kind, compiled checks.
 *
 * @module
 */
import type { AlertConfig } from "../../domain/alerts/transition.ts";
import { type BudgetLabels, labelsOf } from "../../domain/budgets/verdict.ts";
import type { Check, CompiledCheck } from "../../domain/checks/check.ts";
import { compiledCheck } from "../../domain/checks/compile.ts";
import type { Patterns } from "../../domain/checks/program.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import { type ByteCache, BYTES_PER_CHAR, createByteCache } from "../../runtime/memory.ts";
import { keys } from "../base/keys.ts";
import type { Store } from "../store.ts";
import { type RowFamily, teamKey, type TeamRows } from "../team/team_rows.ts";
import { DEFAULT_CONFIG, readConfig, type TeamConfig } from "./objects.ts";

/** Bytes of an object besides its texts. */
const OBJECT_BYTES = 1_000;

/** The configuration of a team: its objects, enabled rules by kind, and enabled checks, compiled. */
export interface PreparedConfig extends AlertConfig, Omit<TeamConfig, "checks"> {
  /** Enabled checks, by slug. */
  readonly checks: readonly CompiledCheck[];
  /** Enabled judges, by slug. */
  readonly judges: TeamConfig["judges"];
  /** Identifiers of all checks. */
  readonly checkIds: ReadonlySet<string>;
  /** Labels whose spend enabled budgets of periods judge. */
  readonly budgetLabels: BudgetLabels;
  /** Bytes in memory. */
  readonly bytes: number;
}

/** Configuration of a team that has set nothing; teams share it. */
const NOTHING_SET = prepared(DEFAULT_CONFIG, []);

/** Numbers of configurations. */
const VERSIONS: RowFamily<number> = {
  decode: (stored) => stored as number,
  encode: (version) => version,
  bytesOf: () => 0,
};

/** Caches the configurations of all teams. */
export class ConfigCache {
  readonly #store: Store;
  readonly #teams: ByteCache<TeamId, PreparedConfig>;
  /** The latest one that is too large for the cache: a commit asks for it several times. */
  #large: { readonly team: TeamId; readonly config: PreparedConfig } | null = null;

  constructor(store: Store) {
    this.#store = store;
    this.#teams = createByteCache({
      memory: store.memory,
      share: "configs",
      bytesOf: ({ bytes }, team) => bytes + BYTES_PER_CHAR * team.length,
    });
  }

  /** Returns the configuration of a team under the version of its rows. */
  async of(team: TeamId, rows: TeamRows): Promise<PreparedConfig> {
    const version = await rows.get(teamKey(VERSIONS, keys.config(team))) ?? 0;
    if (version === 0) return NOTHING_SET;
    const large = this.#large?.team === team ? this.#large.config : undefined;
    const known = this.#teams.get(team) ?? large;
    if (known?.version === version) return known;
    const read = await readConfig(this.#store, team);
    const config = prepared(read, await compiledChecks(read, known, this.#store.patterns));
    this.#teams.set(team, config);
    if (!this.#teams.has(team)) this.#large = { team, config };
    else if (large !== undefined) this.#large = null;
    return config;
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
    judges: config.judges.filter(({ settings }) => settings.enabled),
    checkIds: new Set(config.checks.map(({ id }) => id ?? "")),
    budgetLabels: labelsOf(config.budgets),
    bytes: bytesOfConfig(config) + programs,
  };
}

function bytesOfConfig(config: TeamConfig): number {
  if (config.version === 0) return 0;
  const { version: _, ...byKind } = config;
  const objects = Object.values(byKind).flat();
  const bytesOf = (object: unknown) =>
    OBJECT_BYTES + BYTES_PER_CHAR * JSON.stringify(object).length;
  return objects.reduce((sum, object) => sum + bytesOf(object), 0);
}
