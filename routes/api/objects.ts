/**
 * Endpoints that all kinds of configured objects have: set, read, list and delete (decision 46). Their
 * bodies and responses follow from the schema of the kind.
 */
import { z } from "zod";
import { isConfigSlug, sentSchema } from "../../domain/config/body.ts";
import {
  CONFIG_PER_PAGE,
  CONFIG_SLUG,
  type ConfigObject,
  type ObjectFields,
  type ObjectKind,
} from "../../domain/config/objects.ts";
import { type ErrorCode, existing, notFound, type Problem } from "../../domain/core/errors.ts";
import type { ConfigKind } from "../../domain/core/ids.ts";
import { type PageBounds, Query } from "../../domain/core/query.ts";
import { rawOf } from "../../domain/core/raw_json.ts";
import type { Team } from "../../domain/teams/team.ts";
import { teamKey } from "../http/access.ts";
import { answerWrite } from "../http/answer.ts";
import { type AppDeps, madeBy, type RequestContext } from "../http/context.ts";
import { decodeCursor, encodeCursor, nameInPath, queryOf } from "../http/query.ts";
import { type Endpoint, endpoints, written } from "../openapi/describe.ts";
import * as shape from "../openapi/wire.ts";
import { listOf, returns } from "./answers.ts";

/** An object with its fields, and with what its kind shows in addition. */
export type ShownObject<Settings, More = unknown> =
  & ConfigObject<Settings>
  & { readonly fields: ObjectFields }
  & More;

/** The calls of one kind. `More` is what responses show in addition to the settings. */
export interface ObjectApi<Settings, Sent, More> {
  readonly of: ObjectKind<Settings, Sent>;
  readonly tag: Endpoint["tag"];
  /** Fields between `version` and `created_at`; those of the settings when absent. */
  readonly fields?: shape.WireFields<ShownObject<Settings, More>>;
  /** Reads what responses show of objects in addition, in their order. */
  readonly read?: (
    deps: AppDeps,
    team: Team,
    objects: readonly ConfigObject<Settings>[],
  ) => Promise<readonly More[]>;
  /** Returns what shows a generated secret. The response to a `PUT` is never cached then. */
  readonly showSecret?: (secret: string) => Partial<More>;
  /** Descriptions of the calls; the kind implies those that are absent. */
  readonly texts: {
    readonly put: string;
    readonly list?: string;
    readonly remove?: string;
  };
  readonly errors?: readonly ErrorCode[];
}

/** A slug of an object. */
export const configSlug = z.string().meta({ pattern: CONFIG_SLUG.source });

/** The same error for an unknown object and one of another team. */
export function noSuch(kind: ConfigKind): Problem {
  return notFound(`No such ${kind}: list the ${kind}s, or create one with PUT`);
}

/** Returns the slug of the path; refuses a text that is none. */
export function slugInPath(c: RequestContext, none: Problem): string {
  const slug = nameInPath(c);
  return existing(isConfigSlug(slug) ? slug : null, none);
}

/** Parses the query of a list of objects. */
export function parseObjectsQuery(text: string): PageBounds<string> {
  return new Query(text).page((cursor) => {
    const slug = decodeCursor(cursor);
    return isConfigSlug(slug) ? slug : null;
  }, CONFIG_PER_PAGE);
}

/** Returns fields of a kind's settings as responses have them: the named ones, or all. */
export function settingsFields(
  { schema }: Pick<ObjectKind<never, never>, "schema">,
  ...names: readonly string[]
): shape.WireFields<{ readonly fields: ObjectFields }> {
  const fields = Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>)
    .filter(([name]) => names.length === 0 ? name !== "version" : names.includes(name));
  return Object.fromEntries(fields.map(([name, field]) => [name, {
    schema: describedSchema(field),
    write: ({ fields }) => fields[name] === undefined ? undefined : rawOf(fields[name]),
  }]));
}

/** Returns the name that ids of operations end with, such as `Rule`. */
function nameOf({ kind }: Pick<ObjectKind<never, never>, "kind">): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}

/** Returns the schema of a field in responses, with its description. */
function describedSchema(field: z.ZodType): z.ZodType {
  const shown = shownSchema(field);
  const { description } = field;
  return shown === field || description === undefined ? shown : shown.describe(description);
}

/**
 * Returns the schema of a field in responses: its default takes the place of an absent value. A field
 * without one is left out, as that of another kind of the object.
 */
function shownSchema(field: z.ZodType): z.ZodType {
  if (field instanceof z.ZodOptional) return shownSchema(field.unwrap() as z.ZodType).optional();
  if (field instanceof z.ZodObject) {
    const { id } = field.meta() ?? {};
    const members = Object.entries(field.shape as Readonly<Record<string, z.ZodType>>);
    const shown = Object.fromEntries(members.map(([name, part]) => [name, describedSchema(part)]));
    const named = id === undefined ? {} : { id: id.replace(/Request$/, "") };
    return z.object(shown).meta(named);
  }
  if (!(field instanceof z.ZodPipe)) return field;
  const whenAbsent = field.safeParse(undefined);
  const sent = shownSchema(sentSchema(field));
  if (!whenAbsent.success) return sent;
  if (whenAbsent.data === undefined) return sent.optional();
  return whenAbsent.data === null ? sent.nullable() : sent;
}

/** Returns the type of a kind's objects in responses. */
function objectValue<Settings, Sent, More>(
  { of: { prefix, defaults }, fields, of }: ObjectApi<Settings, Sent, More>,
): shape.Wire<ShownObject<Settings, More>> {
  type Row = ShownObject<Settings, More>;
  /** A value that default objects do not have, because they are not stored. */
  const ofStored = <Value>(type: shape.Wire<Value>) =>
    (defaults === undefined ? type : type.orNull) as typeof type.orNull;
  const atOf = (from: "createdAt" | "updatedAt") => (row: Row) =>
    row.id === null ? null : row[from];
  return shape.object<Row>(nameOf(of), {
    slug: shape.wire<string>(configSlug)(({ slug }) => slug),
    id: ofStored(shape.id(prefix))(({ id }) => id),
    version: shape.count(({ version }) => version, "Number of the version, from 1."),
    ...defaults === undefined ? {} : {
      default: shape.boolean<Row>(
        ({ id }) => id === null,
        "True for a default one that was never changed: its version is 0, and it has no `id`.",
      ),
    },
    ...fields ?? settingsFields(of),
    created_at: ofStored(shape.instant)(atOf("createdAt")),
    updated_at: ofStored(shape.instant)(atOf("updatedAt"), "Last change."),
    updated_by: ofStored(shape.text)(
      ({ updatedBy }) => updatedBy,
      "Id of the credential that made it.",
    ),
  });
}

/** Returns the type of a kind's objects in responses, and functions that read them. */
export function writerOf<Settings, Sent, More>(api: ObjectApi<Settings, Sent, More>) {
  type Row = ShownObject<Settings, More>;
  const value = objectValue(api);
  const rowsOf = async (deps: AppDeps, team: Team, objects: readonly ConfigObject<Settings>[]) => {
    const more = await api.read?.(deps, team, objects);
    return objects.map((object, i) => {
      const row = { ...object, fields: api.of.fieldsOf(object.settings), ...more?.[i] };
      return row as Row;
    });
  };
  const rowOf = async (
    deps: AppDeps,
    team: Team,
    object: ConfigObject<Settings>,
    secret?: string,
  ) => {
    const [row] = await rowsOf(deps, team, [object]);
    return { ...row, ...secret === undefined ? {} : api.showSecret?.(secret) } as Row;
  };
  return { value, rowsOf, rowOf };
}

/** Declares the endpoints of a kind. */
export function objectEndpoints<Settings, Sent = Settings, More = unknown>(
  api: ObjectApi<Settings, Sent, More>,
): readonly Endpoint[] {
  const { of } = api;
  const { kind, cap, schema, parse } = of;
  const name = nameOf(of);
  const texts = { list: `Lists ${kind}s by slug.`, remove: `Deletes a ${kind}.`, ...api.texts };
  const path = `/v1/${kind}s` as const;
  const { value, rowsOf, rowOf } = writerOf(api);
  const page = shape.page(`${name}Page`, `${kind}s`, value);
  const pathFields = { slug: configSlug.describe(`The ${kind}'s slug.`) };
  return endpoints(api.tag, {
    [`put${name}`]: {
      route: `PUT ${path}/:slug`,
      access: teamKey("admin"),
      handler: async (c, deps, { team }) => {
        const slug = slugInPath(c, INVALID_SLUG);
        const made = madeBy(c, deps);
        const { settings, version } = parse(c.get("body").value, made.at);
        const put = await deps.objects(of).put(team, slug, settings, version, made);
        const json = value.write(await rowOf(deps, team, put.object, put.secret));
        const response = answerWrite(c, put.kind, json, null);
        if (api.showSecret !== undefined) response.headers.set("Cache-Control", "no-store");
        return response;
      },
      summary: `Set a ${kind}`,
      description: `${texts.put} Replaces all settings: fields that are not sent get their ` +
        "defaults. Returns 202 for a new version, 200 when nothing differs. Unknown fields are " +
        `refused. A team has at most ${cap} ${kind}s.`,
      pathFields,
      body: schema.meta({ id: `${name}Request` }),
      answers: written(value),
      errors: ["missing_field", "version_conflict", "object_cap_reached", ...api.errors ?? []],
      idempotency: "content",
    },
    [`list${name}s`]: {
      route: `GET ${path}`,
      access: teamKey("read"),
      ...listOf(`${kind}s`, page, CONFIG_PER_PAGE, async (c, deps, { team }) => {
        const query = parseObjectsQuery(queryOf(c));
        const { objects, next } = await deps.objects(of).list(team, query);
        return { items: await rowsOf(deps, team, objects), cursor: next && encodeCursor(next) };
      }),
      summary: `List ${kind}s`,
      description: texts.list,
    },
    [`get${name}`]: {
      route: `GET ${path}/:slug`,
      access: teamKey("read"),
      ...returns(`The ${kind}.`, value, async (c, deps, { team }) => {
        const slug = slugInPath(c, noSuch(kind));
        const object = existing(await deps.objects(of).read(team, slug), noSuch(kind));
        return await rowOf(deps, team, object);
      }),
      summary: `Read a ${kind}`,
      description: `Returns the current version of a ${kind}.`,
      pathFields,
      errors: ["not_found"],
    },
    [`delete${name}`]: {
      route: `DELETE ${path}/:slug`,
      access: teamKey("admin"),
      ...returns(`The deleted ${kind}.`, value, async (c, deps, { team }) => {
        const slug = slugInPath(c, noSuch(kind));
        const removed = await deps.objects(of).remove(team, slug, madeBy(c, deps));
        return await rowOf(deps, team, existing(removed, noSuch(kind)));
      }),
      summary: `Delete a ${kind}`,
      description: `${texts.remove} A repeat returns 404.`,
      pathFields,
      errors: ["not_found"],
      idempotency: "target",
    },
  });
}

const INVALID_SLUG: Problem = {
  code: "invalid_field",
  message: `The name in the path must match ${CONFIG_SLUG.source}`,
  field: "slug",
};
