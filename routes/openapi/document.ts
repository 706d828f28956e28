/** The OpenAPI 3.1 document of the endpoints. */
import type { z } from "zod";
import { type ErrorCode, ERRORS } from "../../domain/core/errors.ts";
import { type Description, type FieldDescriptions, IDEMPOTENCY, TAGS } from "./describe.ts";
import { MEANINGS, refusalsOf } from "./errors.ts";
import examples from "./examples.json" with { type: "json" };
import { answerHeaders, HEADERS } from "./headers.ts";
import { type JsonSchema, SchemaBook } from "./json_schema.ts";

/** Version of the contract; breaking changes raise the major version. */
const VERSION = "1.0.0";

/** A part of the document, as plain JSON; undefined parts are left out. */
type Part = Record<string, unknown>;

/** Returns the OpenAPI document of some endpoints as JSON text. */
export function documentText(endpoints: readonly Description[]): string {
  return `${JSON.stringify(openapiDocument(endpoints))}\n`;
}

/** Writes the document of the endpoints. */
export function openapiDocument(endpoints: readonly Description[]): Part {
  const parts = { book: new SchemaBook(), refusals: new Map<string, Part>(), endpoints };
  const paths: Record<string, Part> = {};
  for (const endpoint of endpoints) {
    const path = pathTemplate(endpoint.path);
    paths[path] = {
      ...paths[path],
      [endpoint.method.toLowerCase()]: operationPart(endpoint, parts),
      ...(endpoint.hasHead ? { head: headPart(endpoint, parts) } : {}),
    };
  }
  const tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
  return {
    openapi: "3.1.1",
    info: INFO,
    servers: [{ url: "/", description: "The endpoint of the credential's region" }],
    tags,
    paths,
    components: {
      schemas: {
        Error: ERROR_SCHEMA,
        ErrorCode: ERROR_CODE_SCHEMA,
        Status: STATUS_SCHEMA,
        ...parts.book.named(),
      },
      headers: HEADERS,
      responses: Object.fromEntries([...parts.refusals].sort(([a], [b]) => a < b ? -1 : 1)),
      securitySchemes: SECURITY,
    },
    "x-errors": errorTable(),
    "x-idempotency-classes": IDEMPOTENCY,
  };
}

/** Converts a route's path to an OpenAPI path template. */
export function pathTemplate(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

const INFO = {
  title: "Runledger",
  version: VERSION,
  summary: "A ledger of software agents' runs.",
  description:
    "Records each run once: what it did, how it ended and what it cost. Clients generate ids, so " +
    "every write can be retried safely. Amounts are US dollars, exact to the picodollar. Null " +
    "in an optional field counts as absent. Ingest calls ignore unknown body fields; all others " +
    "reject unknown fields, unknown query parameters and parameters without a value.",
  license: { name: "MIT", identifier: "MIT" },
};

const ERROR_CODE_SCHEMA = { type: "string", enum: Object.keys(ERRORS) };

const ERROR_SCHEMA = {
  type: "object",
  description: "An error. A request that is answered with 4xx stores nothing.",
  properties: {
    error: { $ref: "#/components/schemas/ErrorCode" },
    message: { type: "string", description: "Human-readable: what failed, and what to do." },
    field: { type: "string", description: "The invalid field or parameter, if there is one." },
  },
  required: ["error", "message"],
};

const STATUS_SCHEMA = {
  type: "object",
  description: "An error of OTLP, a `google.rpc.Status` in the encoding of the request.",
  properties: {
    code: { type: "integer", description: "Number of the error in gRPC." },
    message: { type: "string", description: "The error code, a space, and what failed." },
  },
  required: ["code", "message"],
};

const SECURITY = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "A team key `apk_<region>_<32 hex>`. Where the operation accepts them: a ping " +
      "token `ping_<region>_<32 hex>`, or the operator's key `opk_<region>_<32 hex>`.",
  },
  header: {
    type: "apiKey",
    in: "header",
    name: "X-AgentPing-Key",
    description: "The credential in a header of its own.",
  },
  basic: {
    type: "http",
    scheme: "basic",
    description: "The credential as user name, with an empty password.",
  },
  query: {
    type: "apiKey",
    in: "query",
    name: "key",
    description: "The credential as a query parameter; on `/v1/ping` only.",
  },
};

/** Lists every code with its status, whether it can be retried, and its meaning. */
function errorTable() {
  return (Object.keys(ERRORS) as ErrorCode[]).map((code) => ({
    code,
    ...ERRORS[code],
    meaning: MEANINGS[code],
  }));
}

interface Parts {
  readonly book: SchemaBook;
  /** Error responses by their codes; routes with the same errors share one. */
  readonly refusals: Map<string, Part>;
  readonly endpoints: readonly Description[];
}

/** The HEAD operation of a GET endpoint. */
function headPart(endpoint: Description, parts: Parts): Part {
  const answers = endpoint.answers.map(({ status, description, headers = [] }) => ({
    status,
    description,
    headers,
  }));
  const { id, summary } = endpoint;
  const head = { ...endpoint, summary: `${summary}, without a response body`, answers };
  return { ...operationPart(head, parts), operationId: `${id}Head` };
}

function operationPart(endpoint: Description, parts: Parts): Part {
  const { id, tag, access, summary, description, body, idempotency } = endpoint;
  const example = exampleFor(endpoint);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: `${description} ${accessText(access)} Idempotency: ${IDEMPOTENCY[idempotency]}`,
    security: access === null ? [] : security(endpoint),
    "x-scope": access?.scope ?? null,
    "x-ping-tokens": access?.pingTokens ?? false,
    "x-operator": access?.operator ?? false,
    "x-idempotency": idempotency,
    parameters: [
      ...parametersOf("path", endpoint.pathFields, example.path, parts.book),
      ...parametersOf("query", endpoint.query, example.query, parts.book),
      ...parametersOf("header", endpoint.headers, example.headers, parts.book),
    ],
    requestBody: body && {
      required: endpoint.mayLackBody !== true,
      content: {
        "application/json": { schema: parts.book.write(body), example: example.body },
        ...alsoPart(endpoint.bodyAlso, parts.book),
      },
    },
    responses: {
      ...answersPart(endpoint, parts),
      ...refusalsOf(endpoint, parts.refusals),
    },
  };
}

/** Returns the credentials that an operation accepts as a sentence. */
function accessText(access: Description["access"]): string {
  if (access === null) return "No credential.";
  const { scope, pingTokens, operator } = access;
  if (scope === null) return "The operator's key.";
  const key = scope === "any" ? "A team key" : `Scope \`${scope}\``;
  return `${key}${pingTokens ? ", or a ping token" : ""}${
    operator ? ", or the operator's key" : ""
  }.`;
}

function security({ path, access }: Description): Part[] {
  const scope = access?.scope ?? "any";
  const roles = scope === "any" ? [] : [scope];
  const schemes = ["bearer", "header", "basic", ...(path === "/v1/ping" ? ["query"] : [])];
  return schemes.map((scheme) => ({ [scheme]: roles }));
}

function parametersOf(
  where: "path" | "query" | "header",
  fields: FieldDescriptions = {},
  samples: Readonly<Record<string, string>> = {},
  book: SchemaBook,
): Part[] {
  return Object.entries(fields).map(([name, field]) => {
    const { description, ...schema } = book.write(field);
    return {
      name,
      in: where,
      required: where === "path" || !field.safeParse(undefined).success,
      description,
      schema,
      example: samples[name] && exampleOf(schema, samples[name]),
    };
  });
}

/** Returns an example in the parameter's type: on the wire it is text. */
function exampleOf({ type }: JsonSchema, text: string): unknown {
  return type === "integer" || type === "number" ? Number(text) : text;
}

/** A request as a client sends it, and its response. */
export interface Example {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** True for an endless stream: a test compares its beginning. */
  readonly endless?: boolean;
  /** Ids of operations whose examples are sent first. */
  readonly needs?: readonly string[];
  /** First of the endpoint's responses: JSON as a value; anything else as text. */
  readonly answer?: unknown;
}

/** Returns the example of an endpoint. */
export function exampleFor({ id }: Pick<Description, "id">): Example {
  return (examples as Readonly<Record<string, Example>>)[id] ?? {};
}

function answersPart(endpoint: Description, parts: Parts): Part {
  const { access, answers, links } = endpoint;
  const { book, endpoints } = parts;
  return Object.fromEntries(answers.map((answer) => {
    const { status, description, schema, type = "application/json", also } = answer;
    const content = schema && {
      [type]: {
        schema: book.write(schema),
        example: answer === answers[0] ? exampleFor(endpoint).answer : undefined,
        "x-parts": answer.parts && written(answer.parts, book),
      },
      ...alsoPart(also, book),
    };
    const headers = answerHeaders(access, answer.headers);
    const next = links && linksPart(links, endpoints);
    return [status, { description, headers, content, links: next }];
  }));
}

/** Writes the same content in other media types. */
function alsoPart(schemas: Readonly<Record<string, z.ZodType>> = {}, book: SchemaBook): Part {
  return Object.fromEntries(
    Object.entries(schemas).map(([type, schema]) => [type, { schema: book.write(schema) }]),
  );
}

/** Writes the schemas of fields, by name. */
function written(fields: FieldDescriptions, book: SchemaBook): Part {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, book.write(field)]),
  );
}

/** Links to the operations that take the response's id in their path. */
function linksPart(ids: readonly string[], endpoints: readonly Description[]): Part {
  return Object.fromEntries(ids.map((operationId) => {
    const { pathFields = {} } = endpoints.find(({ id }) => id === operationId) ?? {};
    const [name = "id"] = Object.keys(pathFields);
    return [operationId, { operationId, parameters: { [name]: "$response.body#/id" } }];
  }));
}
