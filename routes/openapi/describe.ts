/**
 * Endpoint declarations: route, handler and description. The route table, the access requirements, the
 * accepted query parameters, `GET /openapi.json` and `GET /docs` are derived from them.
 *
 * To add an endpoint:
 *
 * 1. Add an {@link Endpoint} under its id to the table of its resource (`routes/api/<resource>/`). A new
 *    table is added to `routes/api/endpoints.ts`. Scope, credentials, rate headers and the errors of guards
 *    are derived from `route` and `access`.
 * 2. `body` is the schema that the handler validates the body with, under a name: `.meta({ id: … })`. Fields
 *    are described where they are declared; bounds and patterns that other code enforces are added there
 *    with `.meta({…})`.
 * 3. `pathFields`, `query` and `headers` are Zod schemas by name, with `.describe(…)`; numbers come from the
 *    domain's constants. An optional parameter is `.optional()` or has a `.default(…)`.
 * 4. `answers` are the successful responses, each with the `Wire` that the handler writes its body with (see
 *    `wire.ts`); `written(…)` returns the pair of 202 and 200 of an idempotent write. Objects and
 *    enumerations have a name, under which the document stores them once. `links` are the operations that
 *    take the response's id.
 * 5. `errors` are the codes that the handler itself returns.
 * 6. `examples.json` has a request by the endpoint's id. A test sends it to a real server in a new team, after
 *    the examples of `needs` (ids of other operations), and `deno task examples` records its response. Where
 *    a response has an `id` minted by the server, the same text in a later request is replaced with the
 *    actual id.
 *
 * Tests fail for an endpoint, a code, a status or a field that is not described, and for an example whose
 * response does not match.
 */
import { z } from "zod";
import type { ErrorCode } from "../../domain/core/errors.ts";
import type { Handler } from "../http/admission.ts";
import type { RouteRule } from "../http/context.ts";
import type { HeaderName } from "./headers.ts";

/** Parameters or fields by name. */
export type FieldDescriptions = Readonly<Record<string, z.ZodType>>;

/** Effect of a repeated call. */
export const IDEMPOTENCY = {
  read: "a read changes nothing.",
  id: "stored once under the id that the client sends; a repeat returns 200 and changes nothing.",
  item: "each item is stored once under its own id; repeated items are counted and dropped.",
  content: "a repeat with the same content changes nothing.",
  target: "a repeat finds the work done and changes nothing.",
  none: "not idempotent: each call does the work again.",
} as const;

/** One of {@link IDEMPOTENCY}. */
type Idempotency = keyof typeof IDEMPOTENCY;

/** A successful response. */
export interface AnswerDescription {
  readonly status: number;
  readonly description: string;
  /** Schema of the body; no body when absent. */
  readonly schema?: z.ZodType;
  /** Media type of the body. */
  readonly type?: string;
  /** Schemas of the same response in other media types. */
  readonly also?: Readonly<Record<string, z.ZodType>>;
  /** Parts of a non-JSON text, by name. */
  readonly parts?: FieldDescriptions;
  /** Headers in addition to those of every response. */
  readonly headers?: readonly HeaderName[];
}

/** One endpoint of the API. */
export interface Endpoint extends RouteRule {
  readonly handler: Handler;
  /** Operation name in generated clients. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Plain text; names in backquotes. */
  readonly description: string;
  readonly pathFields?: FieldDescriptions;
  readonly query?: FieldDescriptions;
  readonly headers?: FieldDescriptions;
  readonly body?: z.ZodType;
  /** Schemas of the same body in other media types. */
  readonly bodyAlso?: Readonly<Record<string, z.ZodType>>;
  /** True if clients may need `HEAD`, because it has an effect. */
  readonly hasHead?: boolean;
  /** Ids of operations that take the `id` of the response in their path. */
  readonly links?: readonly string[];
  readonly answers: readonly AnswerDescription[];
  /** Codes that the handler itself returns. */
  readonly errors: readonly ErrorCode[];
  /** Form of errors, if it is not JSON: a line of text, or a status of OTLP. */
  readonly errorsAs?: "text" | "status";
  readonly idempotency: Idempotency;
}

/** Description of an operation without its handler. */
export type Description = Omit<Endpoint, "handler">;

/** An endpoint in the table of its resource. A GET is a `read` unless declared otherwise. */
type EndpointSpec =
  & Omit<Endpoint, "id" | "tag" | "errors" | "method" | "path" | "idempotency">
  & Partial<Pick<Endpoint, "errors">>
  & (
    | { readonly route: `GET ${string}`; readonly idempotency?: Idempotency }
    | {
      readonly route: `${Exclude<Endpoint["method"], "GET">} ${string}`;
      readonly idempotency: Idempotency;
    }
  );

/** Completes the endpoints of a resource, declared by their ids. */
export function endpoints(
  tag: Tag,
  specs: Readonly<Record<string, EndpointSpec>>,
): readonly Endpoint[] {
  return Object.entries(specs).map(([id, { route, ...spec }]) => {
    const [method, path] = route.split(" ") as [Endpoint["method"], string];
    return { errors: [], idempotency: "read", ...spec, id, method, path, tag };
  });
}

/** Resources, in the order of the document. */
export const TAGS = {
  Runs: "Record runs, read and export them, and follow their changes.",
  Heartbeats: "Record a complete run in one call.",
  Traces: "Record runs from spans of OpenTelemetry.",
  Refusals: "Rejected requests of the team.",
  Agents: "The agents that run, with their activity.",
  Monitors: "Whether agents run when they are expected.",
  Checks: "Expressions that judge closed runs.",
  Judges: "Models that score sampled runs, within a cap.",
  Alerts: "Rules that open incidents, the incidents, and silences.",
  Channels: "The places that messages about incidents go to, and their deliveries.",
  Guard: "Budgets and pauses, and whether a run may start.",
  Spend: "Cost of runs, and usage of the plan.",
  "Rate card": "Prices of model calls, and repricing.",
  Deletions: "Deletion of runs and of customers' data.",
  Credentials: "Keys and ping tokens of the team.",
  "Audit log": "Changes to the team's settings, with actor and time.",
  Teams: "Team management for the operator of the service.",
  Service: "Health, metrics and API documentation.",
} as const;

/** One of {@link TAGS}. */
type Tag = keyof typeof TAGS;

/** A body: a `Wire`, or a schema with its media type. */
type Body = Pick<AnswerDescription, "type"> & { readonly schema: z.ZodType };

/** Describes a response with a body. */
export function answered(
  status: number,
  description: string,
  { schema, type = "application/json" }: Body,
  ...headers: readonly HeaderName[]
): AnswerDescription {
  return { status, description, schema, type, headers };
}

/** The single 200 response of an operation. */
export function ok(description: string, body: Body): readonly AnswerDescription[] {
  return [answered(200, description, body)];
}

/** The single 201 response of an operation that returns a secret. */
export function created(description: string, body: Body): readonly AnswerDescription[] {
  return [answered(201, description, body, "Cache-Control")];
}

/** A text of a media type, as a body. */
export function textBody(type: string): Body {
  return { schema: z.string(), type };
}

/** Responses of a conditional read, which takes the header `ifNoneMatch`. */
export function tagged(
  description: string,
  body: Body,
  ...more: readonly HeaderName[]
): readonly AnswerDescription[] {
  const headers = ["ETag", ...more] as const;
  const notModified = "Not modified: `If-None-Match` lists the current `ETag`.";
  return [
    answered(200, description, body, ...headers),
    { status: 304, description: notModified, headers },
  ];
}

/** Headers of the acknowledgement of a run: the fields that are not stored, and the guard's verdict. */
export const ACK_HEADERS: readonly HeaderName[] = [
  "Runledger-Dropped",
  "Runledger-Ignored",
  "Runledger-Guard",
];

/** Responses of an idempotent write: 202 for the first, 200 for every repeat. */
export function written(
  body: Body,
  headers: readonly HeaderName[] = [],
): readonly AnswerDescription[] {
  const again = "Already stored; nothing changed.";
  return [
    answered(202, "Stored.", body, ...headers),
    answered(200, again, body, "Idempotent-Replayed", ...headers),
  ];
}
