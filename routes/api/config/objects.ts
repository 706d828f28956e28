/** Endpoints that all kinds of configured objects have: set, read, list and delete (decision 46). */
import type { z } from "zod";
import { type ConfigRequest, isConfigSlug } from "../../../domain/config/body.ts";
import {
  CONFIG_OBJECTS_MAX,
  CONFIG_PER_PAGE,
  CONFIG_SLUG,
  type ConfigKind,
  type ConfigObject,
  type ConfigStore,
  type PutObject,
} from "../../../domain/config/objects.ts";
import type { Body } from "../../../domain/core/body.ts";
import {
  type ErrorCode,
  notFound,
  type Parsed,
  type Problem,
} from "../../../domain/core/errors.ts";
import { type PageBounds, readQuery } from "../../../domain/core/query.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { teamKey } from "../../http/access.ts";
import { answer, answerWrite, fail } from "../../http/answer.ts";
import { type AppDeps, madeBy, type RequestContext } from "../../http/context.ts";
import { decodeCursor, encodeCursor, nameInPath, queryOf } from "../../http/query.ts";
import { type Endpoint, endpoints, ok, written } from "../../openapi/describe.ts";
import { cursorOf, limitOf } from "../../openapi/fields.ts";
import { pageValue, type Wire } from "../../openapi/wire.ts";
import { configSlug } from "./fields.ts";

/** A store whose `PUT` may return more than the object. */
export interface ObjectStore<Settings, Put, Result>
  extends Omit<ConfigStore<Settings, Put>, "put"> {
  put(
    ...call: Parameters<ConfigStore<Settings, Put>["put"]>
  ): Promise<Parsed<Result>>;
}

/** One kind of objects. `Row` is an object with what is shown in addition. */
export interface ObjectKind<Settings, Put, Row, Result extends PutObject<Settings>> {
  readonly tag: Endpoint["tag"];
  readonly kind: ConfigKind;
  /** Ends ids of operations, such as `Rule`. */
  readonly name: string;
  readonly storeOf: (deps: AppDeps) => ObjectStore<Settings, Put, Result>;
  readonly parse: (body: Body, deps: AppDeps) => Parsed<ConfigRequest<Put>>;
  /** Adds what is shown of objects in addition to their settings. */
  readonly rowsOf: (
    deps: AppDeps,
    team: Team,
    objects: readonly ConfigObject<Settings>[],
  ) => Promise<readonly Row[]>;
  /** Adds a secret that only the response to a `PUT` shows; it is not cached then. */
  readonly rowOfPut?: (row: Row, put: Result) => Row;
  readonly body: z.ZodType;
  readonly value: Wire<Row>;
  /** Descriptions of the calls. */
  readonly texts: Readonly<Record<"put" | "list" | "remove", string>>;
  readonly errors?: readonly ErrorCode[];
  readonly example: {
    readonly slug: string;
    readonly sent: unknown;
    readonly answer: object;
    /** Response to the first `PUT`, if it shows more. */
    readonly put?: object;
    /** True if it is the first of several objects. */
    readonly hasMore?: boolean;
  };
}

/** Path of a kind. */
function pathOf(kind: ConfigKind) {
  return `/v1/${kind}s` as const;
}

/** The same error for an unknown object and one of another team. */
export function noSuch(kind: ConfigKind): Problem {
  return notFound(`No such ${kind}: list the ${kind}s, or create one with PUT`);
}

/** Returns the slug of the path; null for a text that is none. */
export function slugInPath(c: RequestContext): string | null {
  const slug = nameInPath(c);
  return isConfigSlug(slug) ? slug : null;
}

/** Parses the query of a list of objects. */
export function parseObjectsQuery(text: string): Parsed<PageBounds<string>> {
  return readQuery(text, (query) =>
    query.page((cursor) => {
      const slug = decodeCursor(cursor);
      return isConfigSlug(slug) ? slug : null;
    }, CONFIG_PER_PAGE));
}

/** Declares the endpoints of a kind. */
export function objectEndpoints<
  Settings,
  Put,
  Row,
  Result extends PutObject<Settings> = PutObject<Settings>,
>(
  spec: ObjectKind<Settings, Put, Row, Result>,
): readonly Endpoint[] {
  const { kind, name, value, texts, storeOf, rowsOf } = spec;
  const { slug, sent, answer: shown, put: shownPut = shown, hasMore = false } = spec.example;
  const path = pathOf(kind);
  const page = pageValue(`${name}Page`, `${kind}s`, value);
  const pathFields = { slug: configSlug.describe(`The ${kind}'s slug.`) };
  const needs = [`put${name}`];
  return endpoints(spec.tag, {
    [`put${name}`]: {
      route: `PUT ${path}/:slug`,
      access: teamKey("admin"),
      handler: async (c, deps) => {
        const slug = slugInPath(c);
        if (slug === null) return fail(c, INVALID_SLUG);
        const parsed = spec.parse(c.get("body"), deps);
        if (!parsed.ok) return fail(c, parsed.problem);
        const { team } = c.get("principal");
        const { settings, version } = parsed.value;
        const put = await storeOf(deps).put(team, slug, settings, version, madeBy(c, deps));
        if (!put.ok) return fail(c, put.problem);
        const [row] = await rowsOf(deps, team, [put.value.object]) as [Row];
        const json = value.write(spec.rowOfPut?.(row, put.value) ?? row);
        const response = answerWrite(c, put.value.kind, json, null);
        if (spec.rowOfPut !== undefined) response.headers.set("Cache-Control", "no-store");
        return response;
      },
      summary: `Set a ${kind}`,
      description: `${texts.put} Replaces all settings: fields that are not sent get their ` +
        "defaults. Returns 202 for a new version, 200 when nothing differs. Unknown fields are " +
        `refused. A team has at most ${CONFIG_OBJECTS_MAX[kind]} ${kind}s.`,
      pathFields,
      body: spec.body,
      answers: written(value),
      errors: ["missing_field", "version_conflict", "object_cap_reached", ...spec.errors ?? []],
      idempotency: "content",
      example: { path: { slug }, body: sent, answer: shownPut },
    },
    [`list${name}s`]: {
      route: `GET ${path}`,
      access: teamKey("read"),
      handler: async (c, deps) => {
        const query = parseObjectsQuery(queryOf(c));
        if (!query.ok) return fail(c, query.problem);
        const { team } = c.get("principal");
        const { objects, next } = await storeOf(deps).list(team, query.value);
        const items = await rowsOf(deps, team, objects);
        return answer(c, 200, page.write({ items, cursor: next && encodeCursor(next) }));
      },
      summary: `List ${kind}s`,
      description: texts.list,
      query: { limit: limitOf(CONFIG_PER_PAGE, `${kind}s`), cursor: cursorOf("cursor") },
      answers: ok(`A page of ${kind}s.`, page),
      example: {
        ...hasMore ? { query: { limit: "1" } } : {},
        answer: { [`${kind}s`]: [shown], cursor: hasMore ? encodeCursor(slug) : null },
        needs,
      },
    },
    [`get${name}`]: {
      route: `GET ${path}/:slug`,
      access: teamKey("read"),
      handler: async (c, deps) => {
        const slug = slugInPath(c);
        const { team } = c.get("principal");
        const object = slug === null ? null : await storeOf(deps).read(team, slug);
        if (object === null) return fail(c, noSuch(kind));
        const [row] = await rowsOf(deps, team, [object]) as [Row];
        return answer(c, 200, value.write(row));
      },
      summary: `Read a ${kind}`,
      description: `Returns the current version of a ${kind}.`,
      pathFields,
      answers: ok(`The ${kind}.`, value),
      errors: ["not_found"],
      example: { path: { slug }, answer: shown, needs },
    },
    [`delete${name}`]: {
      route: `DELETE ${path}/:slug`,
      access: teamKey("admin"),
      handler: async (c, deps) => {
        const slug = slugInPath(c);
        const { team } = c.get("principal");
        const removed = slug === null
          ? null
          : await storeOf(deps).remove(team, slug, madeBy(c, deps));
        if (removed === null) return fail(c, noSuch(kind));
        const [row] = await rowsOf(deps, team, [removed]) as [Row];
        return answer(c, 200, value.write(row));
      },
      summary: `Delete a ${kind}`,
      description: `${texts.remove} A repeat returns 404.`,
      pathFields,
      answers: ok(`The deleted ${kind}.`, value),
      errors: ["not_found"],
      idempotency: "target",
      example: { path: { slug }, answer: shown, needs },
    },
  });
}

const INVALID_SLUG: Problem = {
  code: "invalid_field",
  message: `The name in the path must match ${CONFIG_SLUG.source}`,
  field: "slug",
};
