/**
 * What the API's description says of one call. `GET /openapi.json` and `GET /docs` are made of these.
 *
 * To describe a new route:
 *
 * 1. In the file of its resource beside this one (`runs.ts`, `keys.ts` …; a new one is added to the
 *    list in `operations.ts`), write an {@link OperationDescription} with the method and the path of its line in
 *    `routes/app.ts`. Scope, credentials, the rate headers and every error that the guards give follow
 *    from that line.
 * 2. `body` is the schema that the route checks its body with; what a check of its own cannot tell
 *    (bounds, patterns) belongs to that schema as `.meta({…})`. `bodyOf` gives it a name, and `notes`
 *    that say what each field is for.
 * 3. `path`, `query` and `headers` are Zod schemas by name, with `.describe(…)`; numbers come from the
 *    domain's constants. One that may be absent is `.optional()` or has a `.default(…)`.
 * 4. `answers` are the answers that are no refusals, each with a Zod schema (see `fields.ts`);
 *    `written(…)` makes the pair of 202 and 200 of an idempotent write. A schema with
 *    `.meta({ id: "Run" })` stands once in the document under this name: every object has one. An
 *    enumeration gets its name in `shared.ts`. `links` are the calls that take the answer's id.
 * 5. `errors` are the codes that the handler itself gives; the guards' are added.
 * 6. `example` is sent to a real server by a test. It uses what the examples of `needs` (ids of other
 *    operations) have stored, sent before it in a team of its own. Where a shown answer has an `id`
 *    that the server makes, the same text in a later example stands for it.
 *
 * Tests fail for a route that is not described, for a code, a status or a field that is not told, and
 * for an example whose answer does not fit.
 */
import type { z } from "zod";
import type { ErrorCode } from "../../domain/core/errors.ts";
import type { Schema } from "../../domain/core/validate.ts";
import type { Route } from "../http/context.ts";
import type { HeaderName } from "./headers.ts";
import { NOTES, PARTS } from "./json_schema.ts";

/** Parameters or fields by name. */
export type FieldDescriptions = Readonly<Record<string, z.ZodType>>;

/** What becomes of a call that is sent again. */
export const IDEMPOTENCY = {
  read: "nothing changes.",
  id: "stored once under the id that the client sends; again it is 200 and changes nothing.",
  item: "each item is stored once under its own id; repeats are counted and dropped.",
  content: "with the same content it changes nothing.",
  target: "it finds its work done and changes nothing.",
  none: "it does its work anew.",
} as const;

/** One of {@link IDEMPOTENCY}. */
export type Idempotency = keyof typeof IDEMPOTENCY;

/** An answer that is no refusal. */
export interface AnswerDescription {
  readonly status: number;
  readonly description: string;
  /** What it holds; nothing where absent. */
  readonly schema?: z.ZodType;
  /** Media type, `application/json` where absent. */
  readonly type?: string;
  /** The same in other media types. */
  readonly also?: Readonly<Record<string, z.ZodType>>;
  /** What a text that is no JSON is made of, by name. */
  readonly parts?: FieldDescriptions;
  /** Headers besides those that every answer of such a route has. */
  readonly headers?: readonly HeaderName[];
}

/** A call as somebody would send it, and what it answers. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly status: number;
  /** JSON as a value; anything else as its text. */
  readonly answer: unknown;
  /** The answer is a stream without an end: only how it begins is looked at. */
  readonly endless?: boolean;
  /** Ids of operations whose examples come first. */
  readonly needs?: readonly string[];
}

/** One call. */
export interface OperationDescription {
  readonly method: Route["method"];
  /** As in the table of routes, such as `/v1/runs/:id`. */
  readonly path: string;
  /** Its name in clients that are made from the document. */
  readonly id: string;
  /** The resource, one of {@link TAGS}. */
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
  /** Codes of the handler's own refusals. */
  readonly errors: readonly ErrorCode[];
  /** Whether refusals are a line of text instead of the envelope. */
  readonly errorsAsText?: boolean;
  readonly idempotency: Idempotency;
  readonly example: Example;
}

/** Resources, in the order in which they are shown. */
export const TAGS = {
  Runs: "A run from its opening to its end, and its full record.",
  Heartbeats: "A whole run in one call.",
  Refusals: "Calls that were not accepted.",
  Agents: "Who runs.",
  Spend: "What runs cost, and how much of the plan is used.",
  "Rate card": "What calls of models cost, and pricing them anew.",
  Deletions: "What goes on request.",
  Credentials: "Keys and ping tokens of the team.",
  "Audit log": "Who changed what, and when.",
  Teams: "For the operator of the service.",
  Service: "About the service itself.",
} as const;

/** One of {@link TAGS}. */
export type Tag = keyof typeof TAGS;

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
