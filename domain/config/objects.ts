/**
 * Objects that a team configures: rules, channels, silences, checks, budgets and pauses (decision 46).
 *
 * All kinds are alike: a slug, numbered versions, whole-object `PUT`, a list and `DELETE`.
 *
 * @module
 */
import type { z } from "zod";
import type { JsonFields } from "../core/body.ts";
import { refuse } from "../core/errors.ts";
import type { ConfigKind, TeamId } from "../core/ids.ts";
import type { PageBounds } from "../core/query.ts";
import type { AuditValue } from "../teams/audit_log.ts";
import type { MadeBy, Team } from "../teams/team.ts";
import type { WorkKind } from "../work/work.ts";

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

/** Settings to store, and the version that they replace. */
export interface ConfigRequest<Sent> {
  /** The settings as sent, with their defaults. */
  readonly settings: Sent;
  /** Version that must be the current one, 0 if none is stored; null for any. */
  readonly version: number | null;
}

/** An object before and after a change; null for none. */
export interface ObjectChange<Settings> {
  /** The team. */
  readonly team: TeamId;
  /** Slug of the object. */
  readonly slug: string;
  /** The object before. */
  readonly before: ConfigObject<Settings> | null;
  /** The object after. */
  readonly after: ConfigObject<Settings> | null;
  /** Time of the change, unix milliseconds. */
  readonly atMs: number;
}

/** Settings as sent, and the object that they replace. */
export interface SentSettings<Settings, Sent> extends Omit<ObjectChange<Settings>, "after"> {
  /** The settings. */
  readonly sent: Sent;
}

/** Settings to store. */
export interface CompleteSettings<Settings> {
  /** The settings. */
  readonly settings: Settings;
  /** Secret that was generated for them, readable only in the response; absent for none. */
  readonly secret?: string;
}

/** Work that follows from a change of an object. */
export interface ObjectWork {
  /** Name of the work; the object's slug when absent. */
  readonly name?: string;
  /** Kind of the work. */
  readonly kind: WorkKind;
  /** Time at which it is due, unix milliseconds. */
  readonly at: number;
}

/** Work that a change files, and filed work that it removes. */
export interface FollowUp {
  /** Work to file. */
  readonly file: readonly ObjectWork[];
  /** Filed work to remove; absent for none. */
  readonly remove?: readonly ObjectWork[];
}

/** Settings under the names of requests, responses and the audit log, without secrets. */
export type ObjectFields = { readonly [name: string]: AuditValue };

/**
 * One kind of objects, declared once: the store, the API, its description, the audit log and the
 * form of the dashboard follow from it. `Sent` is what a request sets, if that differs from what is
 * stored.
 */
export interface ObjectKind<Settings, Sent = Settings> {
  /** Name of the kind; paths and actions of the audit log begin with it. */
  readonly kind: ConfigKind;
  /** Prefix of identifiers. */
  readonly prefix: string;
  /** Maximum objects per team. */
  readonly cap: number;
  /**
   * Body of the `PUT`: the fields of the settings, and `version`.
   *
   * @internal
   */
  readonly schema: z.ZodObject;
  /**
   * Schemas by the value of a field, of which each has fields of its own; absent if all are alike.
   *
   * @internal
   */
  readonly variants?: {
    /** Name of the field. */
    readonly field: string;
    /** The schemas. */
    readonly schemas: Readonly<Record<string, z.ZodObject>>;
  };
  /** Objects that exist without a row, until one replaces or deletes them; absent for none. */
  readonly defaults?: readonly ConfigObject<Settings>[];
  /** Validates a body, also where a field depends on another one. */
  readonly parse: (body: JsonFields, nowMs: number) => ConfigRequest<Sent>;
  /** Returns the settings to store; those that are sent when absent. */
  readonly complete?: (
    put: SentSettings<Settings, Sent>,
  ) => CompleteSettings<Settings> | Promise<CompleteSettings<Settings>>;
  /** Returns settings as their fields. */
  readonly fieldsOf: (settings: Settings) => ObjectFields;
  /** Returns the work that follows from a change; none when absent. */
  readonly follow?: (change: ObjectChange<Settings>) => FollowUp;
}

/** Result of a `PUT`; `replayed` if nothing differs. */
export interface PutObject<Settings> {
  /** Outcome. */
  readonly kind: "stored" | "replayed";
  /** The object after the call. */
  readonly object: ConfigObject<Settings>;
  /** Secret that was generated, readable only here; absent for none. */
  readonly secret?: string;
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
   * one is refused as `version_conflict`, and one object too many as `object_cap_reached`
   */
  put(
    team: Team,
    slug: string,
    settings: Put,
    version: number | null,
    made: MadeBy,
  ): Promise<PutObject<Settings>>;
  /** Reads an object; null if there is none. */
  read(team: Team, slug: string): Promise<ConfigObject<Settings> | null>;
  /** Returns a page of objects. */
  list(team: Team, page: PageBounds<string>): Promise<ObjectPage<Settings>>;
  /** Deletes an object; null if there is none. */
  remove(team: Team, slug: string, made: MadeBy): Promise<ConfigObject<Settings> | null>;
}

/** Refuses a change of another version than the current one; 0 if there is none, which `none` says. */
export function versionConflict(version: number, current: number, none: string): never {
  return refuse(
    "version_conflict",
    current === 0
      ? `Cannot change version ${version}: ${none}; leave "version" out`
      : `Cannot change version ${version}: the current version is ${current}; read it and retry`,
    "version",
  );
}
