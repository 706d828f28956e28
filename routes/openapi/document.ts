/**
 * The OpenAPI 3.1 document of the endpoints. `fixed_parts.json` has what no endpoint changes. Breaking
 * changes of the contract raise the major version there.
 */
import type { z } from "zod";
import { type ErrorCode, ERRORS } from "../../domain/core/errors.ts";
import { type Description, type FieldDescriptions, IDEMPOTENCY, TAGS } from "./describe.ts";
import { MEANINGS, refusalsOf } from "./errors.ts";
import examples from "./examples.json" with { type: "json" };
import fixed from "./fixed_parts.json" with { type: "json" };
import { answerHeaders } from "./headers.ts";
import { type JsonSchema, SchemaBook } from "./json_schema.ts";

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
    info: fixed.info,
    servers: [{ url: "/", description: "The endpoint of the credential's region" }],
    tags,
    paths,
    components: {
      schemas: {
        Error: fixed.schemas.Error,
        ErrorCode: ERROR_CODE_SCHEMA,
        Status: fixed.schemas.Status,
        ...parts.book.named(),
      },
      headers: fixed.headers,
      responses: Object.fromEntries([...parts.refusals].sort(([a], [b]) => a < b ? -1 : 1)),
      securitySchemes: fixed.securitySchemes,
    },
    "x-errors": errorTable(),
    "x-idempotency-classes": IDEMPOTENCY,
  };
}

/** Converts a route's path to an OpenAPI path template. */
export function pathTemplate(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

const ERROR_CODE_SCHEMA = { type: "string", enum: Object.keys(ERRORS) };

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
    responses: { ...answersPart(endpoint, parts), ...refusalsOf(endpoint, parts.refusals) },
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
