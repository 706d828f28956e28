/** The OpenAPI 3.1 document of the endpoints. */
import { type ErrorCode, ERRORS } from "../../domain/core/errors.ts";
import {
  type AnswerDescription,
  type Endpoint,
  type FieldDescriptions,
  IDEMPOTENCY,
  TAGS,
} from "./describe.ts";
import { MEANINGS, refusalsOf } from "./errors.ts";
import { answerHeaders, HEADERS } from "./headers.ts";
import { SchemaBook } from "./json_schema.ts";
import type { JsonSchema } from "./shared.ts";

/** Version of the contract: the first part grows with what breaks a client. */
const VERSION = "1.0.0";

/** A part of the document; it is JSON and nothing else. */
type Part = Record<string, unknown>;

/** Returns the OpenAPI document of some endpoints as JSON text. */
export function documentText(endpoints: readonly Endpoint[]): string {
  return `${JSON.stringify(openapiDocument(endpoints))}\n`;
}

/** Writes the document of the endpoints. */
export function openapiDocument(endpoints: readonly Endpoint[]): Part {
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
      schemas: { Error: ERROR_SCHEMA, ErrorCode: ERROR_CODE_SCHEMA, ...parts.book.named() },
      headers: HEADERS,
      responses: Object.fromEntries([...parts.refusals].sort(([a], [b]) => a < b ? -1 : 1)),
      securitySchemes: SECURITY,
    },
    "x-errors": errorTable(),
    "x-idempotency-classes": IDEMPOTENCY,
  };
}

/** A path of the route table as templates write it. */
export function pathTemplate(path: string): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

const INFO = {
  title: "Runledger",
  version: VERSION,
  summary: "A ledger of software agents' runs.",
  description:
    "Every run once: what it did, how it ended, what it cost. Clients make the ids, so " +
    "every write can be sent again; amounts are dollars, exact to the picodollar. Unknown fields " +
    "are ignored, and null in an optional field is as absent. Reads refuse unknown parameters, and " +
    "parameters without a value.",
  license: { name: "MIT", identifier: "MIT" },
};

const ERROR_CODE_SCHEMA = { type: "string", enum: Object.keys(ERRORS) };

const ERROR_SCHEMA = {
  type: "object",
  description: "Every refusal. Nothing is stored on any 4xx.",
  properties: {
    error: { $ref: "#/components/schemas/ErrorCode" },
    message: { type: "string", description: "For people: what to do." },
    field: { type: "string", description: "The field at fault, where there is one." },
  },
  required: ["error", "message"],
};

const SECURITY = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "A team key `apk_<region>_<32 hex>`, or a ping token `ping_<region>_<32 hex>` " +
      "where the call takes one. The operator's key `opk_<region>_<32 hex>` where it takes that.",
  },
  header: { type: "apiKey", in: "header", name: "X-AgentPing-Key", description: "The same." },
  basic: { type: "http", scheme: "basic", description: "The same as user name, no password." },
  query: { type: "apiKey", in: "query", name: "key", description: "The same, on ping alone." },
};

/** Every code with its status, whether a retry can help, and what it means. */
function errorTable() {
  return (Object.keys(ERRORS) as ErrorCode[]).map((code) => ({
    code,
    ...ERRORS[code],
    meaning: MEANINGS[code],
  }));
}

interface Parts {
  readonly book: SchemaBook;
  /** Answers of refusals by their codes: routes that refuse alike share them. */
  readonly refusals: Map<string, Part>;
  readonly endpoints: readonly Endpoint[];
}

/** The same call without the body of its answer. */
function headPart(endpoint: Endpoint, parts: Parts): Part {
  const answers = endpoint.answers.map(({ status, description, headers = [] }) => ({
    status,
    description,
    headers,
  }));
  const { id, summary } = endpoint;
  const head = { ...endpoint, id: `${id}Head`, summary: `${summary}, answered without a body` };
  return operationPart({ ...head, answers }, parts);
}

function operationPart(endpoint: Endpoint, parts: Parts): Part {
  const { id, tag, access, summary, description, body, example, idempotency } = endpoint;
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
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
    ...(body === undefined ? {} : {
      requestBody: {
        required: endpoint.mayLackBody !== true,
        content: { "application/json": { schema: parts.book.write(body), example: example.body } },
      },
    }),
    responses: {
      ...answersPart(endpoint, parts),
      ...refusalsOf(endpoint, parts.refusals),
    },
  };
}

function security({ path, access }: Endpoint): Part[] {
  const scope = access?.scope ?? null;
  const roles = scope === null ? [] : [scope];
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
      ...(description === undefined ? {} : { description }),
      schema,
      ...(samples[name] === undefined ? {} : { example: exampleOf(schema, samples[name]) }),
    };
  });
}

/** A parameter is text on its way, but its example is of its type. */
function exampleOf({ type }: JsonSchema, text: string): unknown {
  return type === "integer" || type === "number" ? Number(text) : text;
}

function answersPart({ access, answers, example, links }: Endpoint, parts: Parts): Part {
  const { book } = parts;
  return Object.fromEntries(answers.map((answer) => {
    const { status, description, schema, type = "application/json", also = {} } = answer;
    const sample = status === example.status ? { example: example.answer } : {};
    const others = Object.entries(also).map((
      [name, other],
    ) => [name, { schema: book.write(other) }]);
    const content = schema === undefined ? {} : {
      content: {
        [type]: { schema: book.write(schema), ...sample, ...partsOf(answer, book) },
        ...Object.fromEntries(others),
      },
    };
    const headers = answerHeaders(access, answer.headers);
    const next = links === undefined ? {} : { links: linksPart(links, parts.endpoints) };
    return [status, { description, headers, ...content, ...next }];
  }));
}

/** What a text that is no JSON is made of. */
function partsOf({ parts }: AnswerDescription, book: SchemaBook): Part {
  if (parts === undefined) return {};
  const written = Object.entries(parts).map(([name, part]) => [name, book.write(part)]);
  return { "x-parts": Object.fromEntries(written) };
}

/** Calls that take the answer's id in their path. */
function linksPart(ids: readonly string[], endpoints: readonly Endpoint[]): Part {
  return Object.fromEntries(ids.map((operationId) => {
    const { pathFields = {} } = endpoints.find(({ id }) => id === operationId) ?? {};
    const [name = "id"] = Object.keys(pathFields);
    return [operationId, { operationId, parameters: { [name]: "$response.body#/id" } }];
  }));
}
