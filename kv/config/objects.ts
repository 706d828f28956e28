/**
 * Reads the objects that a team configures.
 *
 * @module
 */
import { RULES } from "../../domain/alerts/rule_body.ts";
import { SILENCES } from "../../domain/alerts/silence.ts";
import { BUDGETS, PAUSES } from "../../domain/budgets/budget.ts";
import { CHANNELS } from "../../domain/channels/channel_body.ts";
import { CHECKS } from "../../domain/checks/check.ts";
import type { ConfigObject } from "../../domain/config/objects.ts";
import type { ConfigKind, TeamId } from "../../domain/core/ids.ts";
import { JUDGES } from "../../domain/judges/judge_body.ts";
import { keys } from "../base/keys.ts";
import { getValue, listRows, type Store } from "../store.ts";

/** A deleted default object: its row keeps it deleted, and counts on its versions. */
export interface DeletedDefault {
  readonly slug: string;
  readonly version: number;
  readonly isDeleted: true;
}

/** A row: an object, or the deletion of a default one. */
export type ConfigRow<Settings> = ConfigObject<Settings> | DeletedDefault;

/** Returns whether a row is an object. */
export function isObject<Settings>(row: ConfigRow<Settings>): row is ConfigObject<Settings> {
  return !("isDeleted" in row);
}

/** Reads the row of an object; null if there is none. */
export function readObject<Settings>(
  store: Store,
  team: TeamId,
  kind: ConfigKind,
  slug: string,
): Promise<ConfigRow<Settings> | null> {
  return getValue(store, keys.configObject(team, kind, slug));
}

/** Returns stored objects and the default ones without a row, in the order of their slugs. */
export function withDefaults<Settings>(
  rows: readonly ConfigRow<Settings>[],
  defaults: readonly ConfigObject<Settings>[],
): ConfigObject<Settings>[] {
  const slugs = new Set(rows.map(({ slug }) => slug));
  const unchanged = defaults.filter(({ slug }) => !slugs.has(slug));
  return [...rows.filter(isObject), ...unchanged].sort((a, b) => a.slug < b.slug ? -1 : 1);
}

/** Kinds that are read together, by the name of their objects. */
const KINDS = {
  rules: RULES,
  channels: CHANNELS,
  silences: SILENCES,
  checks: CHECKS,
  budgets: BUDGETS,
  pauses: PAUSES,
  judges: JUDGES,
} as const;

type SettingsOf<Kind> = Kind extends { fieldsOf(settings: infer Settings): unknown } ? Settings
  : never;

/**
 * All objects of a team by kind, in the order of their slugs: default rules that are neither replaced
 * nor deleted are among them, and so is what is not enabled and what has ended.
 */
export type TeamObjects = {
  readonly [Name in keyof typeof KINDS]: readonly ConfigObject<SettingsOf<typeof KINDS[Name]>>[];
};

/** All that a team has configured. */
export interface TeamConfig extends TeamObjects {
  /** Number that changes with each object; 0 before the first one. */
  readonly version: number;
}

/** Configuration of a team that has set nothing. */
export const DEFAULT_CONFIG: TeamConfig = { version: 0, ...objectsIn([]) };

function objectsIn(rows: readonly { readonly key: Deno.KvKey; readonly value: unknown }[]) {
  const read = Object.entries(KINDS).map(([name, { kind, defaults = [] }]) => {
    const stored = rows.filter(({ key }) => key[2] === kind)
      .map(({ value }) => value as ConfigRow<unknown>);
    return [name, withDefaults<unknown>(stored, defaults)];
  });
  return Object.fromEntries(read) as TeamObjects;
}

/**
 * Reads all that a team has configured, from one snapshot. Only changes in turn change it.
 *
 * A rule that was deleted and created again begins at version 1 again, with another id.
 */
export async function readConfig(store: Store, team: TeamId): Promise<TeamConfig> {
  const rows = await listRows(store, keys.configRows(team));
  const [first] = rows;
  const version = first === undefined || first.key.length > 2 ? 0 : first.value as number;
  return { version, ...objectsIn(rows) };
}
