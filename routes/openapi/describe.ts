/**
 * The declaration of an endpoint: how it is served, and its description. The route table, the access
 * requirement, the known query names, `GET /openapi.json` and `GET /docs` all follow from it.
 *
 * To add an endpoint:
 *
 * 1. Add an {@link Endpoint} to the list of its resource (`routes/api/<resource>/`). A new list is added to
 *    `routes/api/endpoints.ts`. Scope, credentials, the rate headers and the errors of the guards follow from
 *    `method`, `path` and `access`.
 * 2. `body` is the schema that the handler checks its body with. Bounds and patterns that a check of its own
 *    enforces belong to that schema as `.meta({…})`. `bodyDescription` names it and adds a note for each field.
 * 3. `path`, `query` and `headers` are Zod schemas by name, with `.describe(…)`; numbers come from the
 *    domain's constants. An optional one is `.optional()` or has a `.default(…)`.
 * 4. `answers` are the successful answers, each with a Zod schema (see `fields.ts`); `written(…)` makes the
 *    pair of 202 and 200 of an idempotent write. A schema with `.meta({ id: "Run" })` is stored once in the
 *    document under this name: every object has one. An enumeration gets its name in `shared.ts`. `links` are
 *    the calls that take the answer's id.
 * 5. `errors` are the codes of the handler itself.
 * 6. `example` is sent to a real server by a test, after the examples of `needs` (ids of other operations), in
 *    a team of its own. Where a shown answer has an `id` of the server, the same text in a later example is
 *    replaced by the real one.
 *
 * Tests fail for an endpoint, a code, a status or a field that is not described, and for an example whose
 * answer does not fit.
 */
import type { z } from "zod";
import type { ErrorCode } from "../../domain/core/errors.ts";
import type { Schema } from "../../domain/core/validate.ts";
import type { Handler } from "../http/admission.ts";
import type { RouteRule } from "../http/context.ts";
import type { HeaderName } from "./headers.ts";
import { NOTES, PARTS } from "./json_schema.ts";

/** Parameters or fields by name. */
export type FieldDescriptions = Readonly<Record<string, z.ZodType>>;

/** Effect of a repeated call. */
export const IDEMPOTENCY = {
  read: "nothing changes.",
  id: "stored once under the id that the client sends; again it is 200 and changes nothing.",
  item: "each item is stored once under its own id; repeats are counted and dropped.",
  content: "with the same content it changes nothing.",
  target: "it finds its work done and changes nothing.",
  none: "each call does the work again.",
} as const;

/** One of {@link IDEMPOTENCY}. */
type Idempotency = keyof typeof IDEMPOTENCY;

/** A successful answer. */
export interface AnswerDescription {
  readonly status: number;
  readonly description: string;
  /** Its content; none when absent. */
  readonly schema?: z.ZodType;
  /** Media type, `application/json` where absent. */
  readonly type?: string;
  /** The same in other media types. */
  readonly also?: Readonly<Record<string, z.ZodType>>;
  /** Parts of a text that is not JSON, by name. */
  readonly parts?: FieldDescriptions;
  /** Headers in addition to those of every answer. */
  readonly headers?: readonly HeaderName[];
}

/** A call as a client sends it, and its answer. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly status: number;
  /** JSON as a value; anything else as its text. */
  readonly answer: unknown;
  /** True for a stream without an end: a test compares its beginning. */
  readonly endless?: boolean;
  /** Ids of operations whose examples come first. */
  readonly needs?: readonly string[];
}

/** One endpoint of the API. */
export interface Endpoint extends RouteRule {
  readonly handler: Handler;
  /** Its name in generated clients. */
  readonly id: string;
  /** Resource. */
  readonly tag: Tag;
  /** A few words. */
  readonly summary: string;
  /** Paragraphs of plain text; names in backquotes. */
  readonly description: string;
  readonly pathFields?: FieldDescriptions;
  readonly query?: FieldDescriptions;
  readonly headers?: FieldDescriptions;
  readonly body?: z.ZodType;
  /** Whether `HEAD` does more than `GET` without its body, so that clients may need it. */
  readonly hasHead?: boolean;
  /** Ids of operations that take the `id` of the answer in their path. */
  readonly links?: readonly string[];
  readonly answers: readonly AnswerDescription[];
  /** Codes of the handler itself. */
  readonly errors: readonly ErrorCode[];
  /** Whether refusals are a line of text instead of the envelope. */
  readonly errorsAsText?: boolean;
  readonly idempotency: Idempotency;
  readonly example: Example;
}

/** An endpoint in the list of its resource. A GET is a `read` unless it says otherwise. */
type EndpointSpec =
  & Omit<Endpoint, "tag" | "errors" | "method" | "idempotency">
  & { readonly errors?: readonly ErrorCode[] }
  & (
    | { readonly method: "GET"; readonly idempotency?: Idempotency }
    | { readonly method: Exclude<Endpoint["method"], "GET">; readonly idempotency: Idempotency }
  );

/** Completes the endpoints of a resource. */
export function endpoints(tag: Tag, specs: readonly EndpointSpec[]): readonly Endpoint[] {
  return specs.map((spec) => ({ errors: [], idempotency: "read", ...spec, tag }));
}

/** Resources, in the order of the document. */
export const TAGS = {
  Runs: "A run from its opening to its end, and its full record.",
  Heartbeats: "A whole run in one call.",
  Refusals: "Calls that were not accepted.",
  Agents: "Who runs.",
  Spend: "What runs cost, and how much of the plan is used.",
  "Rate card": "Prices of model calls, and repricing.",
  Deletions: "What goes on request.",
  Credentials: "Keys and ping tokens of the team.",
  "Audit log": "Who changed what, and when.",
  Teams: "For the operator of the service.",
  Service: "About the service itself.",
} as const;

/** One of {@link TAGS}. */
type Tag = keyof typeof TAGS;

/**
 * A body's schema under a name, with a note for each field that needs one.
 *
 * @param parts names of the objects that it has in its fields
 */
export function bodyDescription<T>(
  schema: Schema<T>,
  id: string,
  notes: { readonly [name in keyof T]?: string },
  parts: { readonly [name in keyof T]?: string } = {},
) {
  return (schema as unknown as z.ZodObject).meta({ id, [NOTES]: notes, [PARTS]: parts });
}

/** The only answer of a call: 200. */
export function ok(description: string, schema: z.ZodType): readonly AnswerDescription[] {
  return [{ status: 200, description, schema }];
}

/** The only answer of a call that shows a secret: 201. */
export function created(description: string, schema: z.ZodType): readonly AnswerDescription[] {
  return [{ status: 201, description, schema, headers: ["Cache-Control"] }];
}

/** The answers of a read whose client may have it already; `ifNoneMatch` is its header. */
export function tagged(description: string, schema: z.ZodType): readonly AnswerDescription[] {
  return [
    { status: 200, description, schema, headers: ["ETag"] },
    {
      status: 304,
      description: "It is the one that `If-None-Match` names.",
      headers: ["ETag"],
    },
  ];
}

/** Headers of an ingest call's answer that say what of it is not stored. */
export const LOSS_HEADERS: readonly HeaderName[] = ["Runledger-Dropped", "Runledger-Ignored"];

/** The answers of a write that the client repeats under one id: 202 first, 200 ever after. */
export function written(
  schema: z.ZodType,
  headers: readonly HeaderName[] = [],
): readonly AnswerDescription[] {
  return [
    { status: 202, description: "Stored.", schema, headers },
    {
      status: 200,
      description: "Stored before, and nothing changed.",
      schema,
      headers: ["Idempotent-Replayed", ...headers],
    },
  ];
}
