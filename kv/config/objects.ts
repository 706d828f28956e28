/**
 * Reads the objects that a team configures.
 *
 * @module
 */
import type { Rule } from "../../domain/alerts/rule.ts";
import { RULES } from "../../domain/alerts/rule_body.ts";
import { type Silence, SILENCES } from "../../domain/alerts/silence.ts";
import { type Budget, BUDGETS, type Pause, PAUSES } from "../../domain/budgets/budget.ts";
import { CHANNELS } from "../../domain/channels/channel_body.ts";
import type { Channel } from "../../domain/channels/channel.ts";
import { type Check, CHECKS } from "../../domain/checks/check.ts";
import type { ConfigKind, ConfigObject, ObjectKind } from "../../domain/config/objects.ts";
import type { TeamId } from "../../domain/core/ids.ts";
import type { Judge } from "../../domain/judges/judge.ts";
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

/** All that a team has configured. */
export interface TeamConfig {
  /** Number that changes with each object; 0 before the first one. */
  readonly version: number;
  /** Rules, with the default ones that are neither replaced nor deleted. */
  readonly rules: readonly Rule[];
  readonly channels: readonly Channel[];
  readonly silences: readonly Silence[];
  /** Checks by slug, also those that are not enabled. */
  readonly checks: readonly Check[];
  /** Budgets, also those that are not enabled. */
  readonly budgets: readonly Budget[];
  /** Pauses, also those that have ended. */
  readonly pauses: readonly Pause[];
  /** Judges by slug, also those that are not enabled. */
  readonly judges: readonly Judge[];
}

/**
 * Reads all that a team has configured, from one snapshot. Only changes in turn change it.
 *
 * A rule that was deleted and created again begins at version 1 again, with another id.
 */
export async function readConfig(store: Store, team: TeamId): Promise<TeamConfig> {
  const rows = await listRows(store, keys.configRows(team));
  const [first] = rows;
  const objectsOf = <Settings, Sent>({ kind, defaults = [] }: ObjectKind<Settings, Sent>) => {
    const ofKind = rows.filter(({ key }) => key[2] === kind);
    return withDefaults(ofKind.map(({ value }) => value as ConfigRow<Settings>), defaults);
  };
  return {
    version: first === undefined || first.key.length > 2 ? 0 : first.value as number,
    rules: objectsOf(RULES),
    channels: objectsOf(CHANNELS),
    silences: objectsOf(SILENCES),
    checks: objectsOf(CHECKS),
    budgets: objectsOf(BUDGETS),
    pauses: objectsOf(PAUSES),
    judges: objectsOf(JUDGES),
  };
}
