/**
 * Stores the objects that a team configures. All kinds are alike: {@link createConfigStore} stores
 * one of them.
 *
 * Each change is committed in turn with the changes of the team's runs, with its audit entry, the
 * next version of the team's configuration, and rows of the work queue for what follows from it.
 *
 * @module
 */
import { type Parsed, refuse } from "../../domain/core/errors.ts";
import { type TeamId, uuid7Hex } from "../../domain/core/ids.ts";
import {
  CONFIG_OBJECTS_MAX,
  type ConfigKind,
  type ConfigObject,
  type ConfigStore,
  type PutObject,
  versionConflict,
} from "../../domain/config/objects.ts";
import { type AuditAction, type AuditEntry, differenceOf } from "../../domain/teams/audit_log.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import type { ObjectDeps, PlannedRows, TeamPlan } from "../team/rows.ts";
import { getValue, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { type ConfigRow, isObject, readObject, withDefaults } from "./objects.ts";

/** An object before and after a change; null for none. */
export interface ObjectChange<Settings> {
  readonly team: TeamId;
  readonly slug: string;
  readonly before: ConfigObject<Settings> | null;
  readonly after: ConfigObject<Settings> | null;
  /** Time of the change, unix milliseconds. */
  readonly atMs: number;
}

/** Settings as sent, and what they replace. */
export interface SentSettings<Settings, Put> extends Omit<ObjectChange<Settings>, "after"> {
  readonly sent: Put;
}

/** Rows that follow from a change. */
export type FollowUp = Pick<PlannedRows, "sets" | "deletes">;

/** Differences between the kinds. */
export interface ConfigKindSpec<Settings, Put> {
  readonly kind: ConfigKind;
  /** Prefix of identifiers. */
  readonly idPrefix: string;
  /** Objects that exist without a row, until one replaces or deletes them. */
  readonly defaults: readonly ConfigObject<Settings>[];
  /** Returns the settings to store. */
  readonly settle: (put: SentSettings<Settings, Put>) => Promise<Parsed<Settings>>;
  /** Returns settings as the audit log has them, without secrets. */
  readonly auditFields: (settings: Settings) => AuditEntry["details"];
  /** Returns the rows that follow from a change. */
  readonly followUp: (change: ObjectChange<Settings>) => FollowUp;
}

/** Creates the store of one kind. */
export function createConfigStore<Settings, Put = Settings>(
  deps: ObjectDeps,
  spec: ConfigKindSpec<Settings, Put>,
): ConfigStore<Settings, Put> {
  const { store } = deps;
  const defaultOf = (slug: string) => spec.defaults.find((object) => object.slug === slug) ?? null;
  return {
    put: (team, slug, sent, version, made) =>
      change<Settings, Parsed<PutObject<Settings>>>(deps, spec, team, slug, made, async (row) => {
        const before = objectOf(row, defaultOf(slug));
        const current = before?.version ?? 0;
        if (version !== null && version !== current) {
          return { result: versionConflict(version, current, `no such ${spec.kind} is stored`) };
        }
        const settled = await spec.settle({ team: team.id, slug, sent, before, atMs: made.at });
        if (!settled.ok) return { result: settled };
        if (before !== null && isSame(before.settings, settled.value)) {
          return { result: { ok: true, value: { kind: "replayed", object: before } } };
        }
        const isNew = row === null || !isObject(row);
        if (isNew && await isFull(store, team.id, spec.kind)) {
          return { result: capReached(spec.kind) };
        }
        const after = changed(deps, spec, slug, row, settled.value, made);
        const details = before === null
          ? { before: null, after: spec.auditFields(after.settings) }
          : differenceOf(spec.auditFields(before.settings), spec.auditFields(after.settings)) ?? {};
        return {
          result: { ok: true, value: { kind: "stored", object: after } },
          row: after,
          before,
          action: `${spec.kind}.put`,
          details,
        };
      }),
    read: (team, slug) =>
      store.reads.run(
        team.id,
        async () => objectOf(await readObject(store, team.id, spec.kind, slug), defaultOf(slug)),
      ),
    list: (team, { limit, after }) =>
      store.reads.run(team.id, async () => {
        const rows = await readKind<Settings>(store, team.id, spec.kind);
        const objects = withDefaults(rows, spec.defaults)
          .filter(({ slug }) => after === null || slug > after);
        const page = objects.slice(0, limit);
        const last = objects.length > limit ? page.at(-1) : undefined;
        return { objects: page, next: last?.slug ?? null };
      }),
    remove: (team, slug, made) =>
      change<Settings, ConfigObject<Settings> | null>(deps, spec, team, slug, made, (row) => {
        const before = objectOf(row, defaultOf(slug));
        if (before === null) return { result: null };
        const isDefault = defaultOf(slug) !== null;
        return {
          result: before,
          row: isDefault ? { slug, version: before.version + 1, isDeleted: true } : null,
          before,
          action: `${spec.kind}.deleted`,
          details: { before: spec.auditFields(before.settings), after: null },
        };
      }),
  };
}

/** A planned change of an object; without a row nothing changes. */
interface Planned<Settings, Result> {
  readonly result: Result;
  /** The row to store; null to remove it. */
  readonly row?: ConfigRow<Settings> | null;
  readonly before?: ConfigObject<Settings> | null;
  readonly action?: AuditAction;
  readonly details?: AuditEntry["details"];
}

/**
 * Changes an object in one commit with its audit entry and what follows from it.
 *
 * @param plan receives the stored row; null for none
 */
export function change<Settings, Result>(
  { store, changes }: ObjectDeps,
  { kind, followUp }: Pick<ConfigKindSpec<Settings, never>, "kind" | "followUp">,
  { id: team }: Team,
  slug: string,
  { at, by }: MadeBy,
  plan: (
    row: ConfigRow<Settings> | null,
  ) => Planned<Settings, Result> | Promise<Planned<Settings, Result>>,
): Promise<Result> {
  return changes.changeInTurn(team, "call", async (): Promise<TeamPlan<Result>> => {
    const planned = await plan(await readObject<Settings>(store, team, kind, slug));
    const { result, row, before = null, action, details = {} } = planned;
    if (row === undefined || action === undefined) return { result, rows: null };
    const version = await getValue<number>(store, keys.config(team)) ?? 0;
    const after = objectOf(row, null);
    const follows = followUp({ team, slug, before, after, atMs: at });
    const key = keys.configObject(team, kind, slug);
    return {
      result,
      rows: {
        sets: [
          { key: keys.config(team), value: version + 1 },
          ...row === null ? [] : [{ key, value: row }],
          ...auditRows({ at, team, actor: by, action, target: slug, details }),
          ...follows.sets,
        ],
        deletes: [...row === null ? [key] : [], ...follows.deletes],
      },
    };
  });
}

/** Returns the object of a row, or the default one without a row. */
function objectOf<Settings>(
  row: ConfigRow<Settings> | null,
  fallback: ConfigObject<Settings> | null,
): ConfigObject<Settings> | null {
  if (row === null) return fallback;
  return isObject(row) ? row : null;
}

/** Returns the next version of an object; a first one if there is no row, or a deletion. */
function changed<Settings, Put>(
  { region, environment }: ObjectDeps,
  { idPrefix }: ConfigKindSpec<Settings, Put>,
  slug: string,
  row: ConfigRow<Settings> | null,
  settings: Settings,
  { at, by }: MadeBy,
): ConfigObject<Settings> {
  const stored = row !== null && isObject(row) ? row : null;
  return {
    slug,
    id: stored?.id ?? `${idPrefix}_${region}_${uuid7Hex(at, environment.random(10))}`,
    version: (row?.version ?? 0) + 1,
    settings,
    createdAt: stored?.createdAt ?? at,
    updatedAt: at,
    updatedBy: by,
  };
}

/** Reads all rows of a kind, in the order of their slugs. */
async function readKind<Settings>(
  store: Store,
  team: TeamId,
  kind: ConfigKind,
): Promise<ConfigRow<Settings>[]> {
  const range = { prefix: keys.configKind(team, kind) };
  return (await listRows<ConfigRow<Settings>>(store, range)).map(({ value }) => value);
}

async function isFull(store: Store, team: TeamId, kind: ConfigKind): Promise<boolean> {
  const rows = await readKind(store, team, kind);
  return rows.filter(isObject).length >= CONFIG_OBJECTS_MAX[kind];
}

/** Returns whether two settings have the same content. Both were built field by field. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function capReached<T>(kind: ConfigKind): Parsed<T> {
  return refuse(
    "object_cap_reached",
    `Cannot create a ${kind}: the team has the maximum of ${CONFIG_OBJECTS_MAX[kind]} ${kind}s; ` +
      "delete one that is not needed",
  );
}
