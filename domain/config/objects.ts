/**
 * Objects that a team configures: rules, channels, silences and checks (decision 46).
 *
 * All kinds are alike: a slug, numbered versions, whole-object `PUT`, a list and `DELETE`.
 *
 * @module
 */
import { type Parsed, refuse } from "../core/errors.ts";
import type { PageBounds } from "../core/query.ts";
import type { MadeBy, Team } from "../teams/team.ts";

/** Kinds of objects. */
export const CONFIG_KINDS = ["rule", "channel", "silence", "check"] as const;

/** One of {@link CONFIG_KINDS}. */
export type ConfigKind = typeof CONFIG_KINDS[number];

/** Maximum objects of each kind per team. */
export const CONFIG_OBJECTS_MAX: Readonly<Record<ConfigKind, number>> = {
  rule: 100,
  channel: 20,
  silence: 100,
  check: 100,
};

/** Pattern of slugs. */
export const CONFIG_SLUG = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Objects per page. */
export const CONFIG_PER_PAGE = { default: 100, max: 500 } as const;

/** An object in its current version. */
export interface ConfigObject<Settings> {
  /** Name within its kind, unique in the team. */
  readonly slug: string;
  /** Identifier, such as `rul_eu_…`; null for a default rule, which is not stored. */
  readonly id: string | null;
  /** Number of the version, from 1; 0 for a default rule, which is not stored. */
  readonly version: number;
  /** The team's settings. */
  readonly settings: Settings;
  /** Creation, unix milliseconds; 0 for a default rule. */
  readonly createdAt: number;
  /** Last change, unix milliseconds; 0 for a default rule. */
  readonly updatedAt: number;
  /** Identifier of the credential that made the last change; null for a default rule. */
  readonly updatedBy: string | null;
}

/** Result of a `PUT`; `replayed` if nothing differs. */
export interface PutObject<Settings> {
  /** Outcome. */
  readonly kind: "stored" | "replayed";
  /** The object after the call. */
  readonly object: ConfigObject<Settings>;
}

/** A page of objects in the order of their slugs. */
export interface ObjectPage<Settings> {
  /** Objects, in order. */
  readonly objects: readonly ConfigObject<Settings>[];
  /** Slug after which the next page starts; null at the end. */
  readonly next: string | null;
}

/**
 * Stores the objects of one kind. Methods reject with `StorageUnavailable` when the store fails.
 */
export interface ConfigStore<Settings, Put = Settings> {
  /**
   * Creates or replaces an object.
   *
   * @param version the version that the caller has seen, 0 if none was stored; null for any. Another
   * one is refused as `version_conflict`
   * @returns `object_cap_reached` for one object too many
   */
  put(
    team: Team,
    slug: string,
    settings: Put,
    version: number | null,
    made: MadeBy,
  ): Promise<Parsed<PutObject<Settings>>>;
  /** Reads an object; null if there is none. */
  read(team: Team, slug: string): Promise<ConfigObject<Settings> | null>;
  /** Returns a page of objects. */
  list(team: Team, page: PageBounds<string>): Promise<ObjectPage<Settings>>;
  /** Deletes an object; null if there is none. */
  remove(team: Team, slug: string, made: MadeBy): Promise<ConfigObject<Settings> | null>;
}

/** Refuses a change of another version than the current one; 0 if there is none, which `none` says. */
export function versionConflict<T>(version: number, current: number, none: string): Parsed<T> {
  return refuse(
    "version_conflict",
    current === 0
      ? `Cannot change version ${version}: ${none}; leave "version" out`
      : `Cannot change version ${version}: the current version is ${current}; read it and retry`,
    "version",
  );
}

/** Returns whether an agent is among patterns; `*` at the end of one matches any rest. */
export function matchesAgent(patterns: readonly string[], agent: string | null): boolean {
  if (patterns.length === 0) return true;
  return patterns.some((pattern) => {
    if (!pattern.endsWith("*")) return pattern === agent;
    return pattern === "*" || agent !== null && agent.startsWith(pattern.slice(0, -1));
  });
}
