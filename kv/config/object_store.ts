/**
 * Stores the objects that a team configures. All kinds are alike: {@link createConfigStore} stores
 * one of them.
 *
 * Each change is committed in turn with the changes of the team's runs, with its audit entry, the
 * next version of the team's configuration, and rows of the work queue for what follows from it.
 *
 * @module
 */
import { refuse } from "../../domain/core/errors.ts";
import { type ConfigKind, type TeamId, uuid7Hex } from "../../domain/core/ids.ts";
import {
  type ConfigObject,
  type ConfigStore,
  type ObjectKind,
  type ObjectWork,
  type PutObject,
  versionConflict,
} from "../../domain/config/objects.ts";
import { type AuditAction, type AuditEntry, differenceOf } from "../../domain/teams/audit_log.ts";
import type { MadeBy, Team } from "../../domain/teams/team.ts";
import { keys } from "../base/keys.ts";
import type { ObjectDeps, TeamPlan } from "../team/team_rows.ts";
import { getValue, listRows, type Store } from "../store.ts";
import { auditRows } from "../teams/audit_log.ts";
import { workKey, workSet } from "../work/store.ts";
import { type ConfigRow, isObject, readObject, withDefaults } from "./objects.ts";

/** The part of a kind that its store needs. */
type StoredKind<Settings, Sent> = Omit<ObjectKind<Settings, Sent>, "schema" | "parse">;

/** Creates the store of one kind. */
export function createConfigStore<Settings, Sent = Settings>(
  deps: ObjectDeps,
  of: StoredKind<Settings, Sent>,
): ConfigStore<Settings, Sent> {
  const { store } = deps;
  const { kind, cap, defaults = [], fieldsOf } = of;
  const defaultOf = (slug: string) => defaults.find((object) => object.slug === slug) ?? null;
  return {
    put: (team, slug, sent, version, made) =>
      change<Settings, PutObject<Settings>>(deps, of, team, slug, made, async (row) => {
        const before = objectOf(row, defaultOf(slug));
        const current = before?.version ?? 0;
        if (version !== null && version !== current) {
          versionConflict(version, current, `no such ${kind} is stored`);
        }
        const put = { team: team.id, slug, sent, before, atMs: made.at };
        // Without `complete` the settings are stored as sent.
        const { settings, ...generated } = await of.complete?.(put) ??
          { settings: sent as unknown as Settings };
        if (before !== null && isSame(before.settings, settings)) {
          return { result: { kind: "replayed", object: before } };
        }
        const isNew = row === null || !isObject(row);
        if (isNew && await isFull(store, team.id, of)) capReached(kind, cap);
        const after = nextVersion(deps, of, slug, row, settings, made);
        const details = before === null
          ? { before: null, after: fieldsOf(after.settings) }
          : differenceOf(fieldsOf(before.settings), fieldsOf(after.settings)) ?? {};
        return {
          result: { kind: "stored", object: after, ...generated },
          row: after,
          before,
          action: `${kind}.put`,
          details,
        };
      }),
    read: (team, slug) =>
      store.reads.run(
        team.id,
        async () => objectOf(await readObject(store, team.id, kind, slug), defaultOf(slug)),
      ),
    list: (team, { limit, after }) =>
      store.reads.run(team.id, async () => {
        const rows = await readKind<Settings>(store, team.id, kind);
        const objects = withDefaults(rows, defaults)
          .filter(({ slug }) => after === null || slug > after);
        const page = objects.slice(0, limit);
        const last = objects.length > limit ? page.at(-1) : undefined;
        return { objects: page, next: last?.slug ?? null };
      }),
    remove: (team, slug, made) =>
      change<Settings, ConfigObject<Settings> | null>(deps, of, team, slug, made, (row) => {
        const before = objectOf(row, defaultOf(slug));
        if (before === null) return { result: null };
        const isDefault = defaultOf(slug) !== null;
        return {
          result: before,
          row: isDefault ? { slug, version: before.version + 1, isDeleted: true } : null,
          before,
          action: `${kind}.deleted`,
          details: { before: fieldsOf(before.settings), after: null },
        };
      }),
  };
}

/** Returns the store of a kind. */
export type ObjectStores = <Settings, Sent>(
  of: ObjectKind<Settings, Sent>,
) => ConfigStore<Settings, Sent>;

/**
 * Creates the stores of all kinds.
 *
 * @param own stores of kinds whose settings are completed by what is not known here
 */
export function createObjectStores(
  deps: ObjectDeps,
  own: Readonly<Partial<Record<ConfigKind, unknown>>>,
): ObjectStores {
  return <Settings, Sent>(of: ObjectKind<Settings, Sent>) =>
    (own[of.kind] ?? createConfigStore(deps, of)) as ConfigStore<Settings, Sent>;
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
  { kind, follow }: Pick<ObjectKind<Settings, never>, "kind" | "follow">,
  { id: team }: Team,
  slug: string,
  { at, by }: MadeBy,
  plan: (
    row: ConfigRow<Settings> | null,
  ) => Planned<Settings, Result> | Promise<Planned<Settings, Result>>,
): Promise<Result> {
  return changes.commitPlan(team, "call", async (): Promise<TeamPlan<Result>> => {
    const planned = await plan(await readObject<Settings>(store, team, kind, slug));
    const { result, row, before = null, action, details = {} } = planned;
    if (row === undefined || action === undefined) return { result, rows: null };
    const version = await getValue<number>(store, keys.config(team)) ?? 0;
    const after = objectOf(row, null);
    const { file = [], remove = [] } = follow?.({ team, slug, before, after, atMs: at }) ?? {};
    const workOf = (work: ObjectWork) => ({ name: slug, ...work, team });
    const key = keys.configObject(team, kind, slug);
    return {
      result,
      rows: {
        sets: [
          { key: keys.config(team), value: version + 1 },
          ...row === null ? [] : [{ key, value: row }],
          ...auditRows({ at, team, actor: by, action, target: slug, details }),
          ...file.map((work) => workSet(workOf(work))),
        ],
        deletes: [...row === null ? [key] : [], ...remove.map((work) => workKey(workOf(work)))],
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
function nextVersion<Settings, Sent>(
  { region, environment }: ObjectDeps,
  { prefix }: Pick<ObjectKind<Settings, Sent>, "prefix">,
  slug: string,
  row: ConfigRow<Settings> | null,
  settings: Settings,
  { at, by }: MadeBy,
): ConfigObject<Settings> {
  const stored = row !== null && isObject(row) ? row : null;
  return {
    slug,
    id: stored?.id ?? `${prefix}_${region}_${uuid7Hex(at, environment.random(10))}`,
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

async function isFull(
  store: Store,
  team: TeamId,
  { kind, cap }: { readonly kind: ConfigKind; readonly cap: number },
): Promise<boolean> {
  const rows = await readKind(store, team, kind);
  return rows.filter(isObject).length >= cap;
}

/** Returns whether two settings have the same content. Both were built field by field. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function capReached(kind: ConfigKind, cap: number): never {
  return refuse(
    "object_cap_reached",
    `Cannot create a ${kind}: the team has the maximum of ${cap} ${kind}s; ` +
      "delete one that is not needed",
  );
}
