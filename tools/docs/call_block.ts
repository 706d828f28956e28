/** The generated part of a call's section: text, fields, an example, answers and errors. */
import { curlOf } from "../../routes/docs/curl.ts";
import {
  type CallOfGroup,
  type Document,
  type DocumentedCall,
  resolved,
  type Response,
  schemaName,
} from "../../routes/docs/document.ts";
import { documentedFields, type Field, sentField } from "../../routes/docs/fields.tsx";
import { fieldRow, table, typeText } from "./fields.ts";

/** Writes the block. */
export function callBlock(document: Document, placed: CallOfGroup): string {
  const { call } = placed;
  const again = document["x-idempotency-classes"][call["x-idempotency"]] ?? "";
  return [
    `${call.summary}. ${call.description}`,
    `${accessText(call)} Idempotency: ${again}`,
    table(["field", "in", "type", "meaning"], [
      ...parameterRows(document, call),
      ...bodyRows(document, call),
    ]),
    fenced("sh", exampleText(placed)),
    ...sampleBlocks(call),
    ...answerLines(document, call),
    errorsLine(call),
  ].filter((part) => part !== "").join("\n\n");
}

function accessText(call: DocumentedCall): string {
  const { "x-scope": scope, "x-operator": operator, "x-ping-tokens": pingTokens } = call;
  if (scope === null) return operator ? "Needs the operator's key." : "Needs no credential.";
  if (operator) return `Scope \`${scope}\`, or the operator's key.`;
  return `Scope \`${scope}\`${pingTokens ? ", or a ping token" : ""}.`;
}

function parameterRows(document: Document, call: DocumentedCall): string[][] {
  return call.parameters.map(({ name, in: where, required, description = "", schema }) =>
    rowIn(document, where, {
      name,
      required: required && where !== "path",
      schema: { ...schema, description },
    })
  );
}

function bodyRows(document: Document, { requestBody }: DocumentedCall): string[][] {
  const sent = requestBody?.content["application/json"]?.schema;
  if (sent === undefined) return [];
  const schema = resolved(document, sent);
  const ways = schema.oneOf?.map((way) => resolved(document, way)) ?? [schema];
  return ways.flatMap((way) =>
    documentedFields(way).map((field) => rowIn(document, "body", sentField(field)))
  );
}

/** A row with the place of its field after the name. */
function rowIn(document: Document, where: string, field: Field): string[] {
  const [name = "", ...rest] = fieldRow(document, field);
  return [name, where, ...rest];
}

/** The `curl` line, with the key that the call needs; a stream is left after two seconds. */
function exampleText(placed: CallOfGroup): string {
  const { call } = placed;
  const needsOperator = call["x-scope"] === null && call["x-operator"];
  const line = curlOf(placed) + (needsOperator ? ' -H "$O"' : "");
  return isStream(call) ? line.replace("curl -sS", "curl -sSN --max-time 2") : line;
}

function isStream({ responses }: DocumentedCall): boolean {
  return responses[200]?.content?.["text/event-stream"] !== undefined;
}

function sampleBlocks({ responses }: DocumentedCall): string[] {
  return Object.values(responses).flatMap(({ content = {} }) =>
    Object.values(content).filter(({ example }) => example !== undefined).map(({ example }) =>
      typeof example === "string"
        ? fenced("text", example.trimEnd())
        : fenced("json", sampleText(example))
    )
  );
}

/** JSON with a line for each member; the formatter breaks the members that are too long. */
function sampleText(example: unknown): string {
  const members = Object.entries(example as object)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${members.join(",\n")}\n}`;
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** Headers that most answers have; they are explained once. */
const COMMON_HEADERS = new Set(["X-Request-Id", "Cache-Control", "RateLimit", "RateLimit-Policy"]);

function answerLines(document: Document, { responses }: DocumentedCall): string[] {
  return Object.entries(responses).filter(([, { $ref }]) => $ref === undefined)
    .map(([status, response]) => `**${status}**: ${answerText(document, response)}`);
}

function answerText(document: Document, { description, content, headers }: Response): string {
  const types = Object.values(content ?? {}).map(({ schema }) => typeText(document, schema))
    .filter((type) => type.includes("]("));
  const names = Object.keys(headers ?? {}).filter((name) => !COMMON_HEADERS.has(name));
  return [
    description ?? "",
    types.length === 0 ? "" : `Body: ${types.join(", ")}.`,
    names.length === 0 ? "" : `Headers: ${names.map((name) => `\`${name}\``).join(", ")}.`,
  ].filter((part) => part !== "").join(" ");
}

/** The codes of refusals; the name of the shared answer lists them. */
function errorsLine({ responses }: DocumentedCall): string {
  const codes = Object.values(responses).flatMap(({ $ref }) =>
    $ref === undefined ? [] : schemaName($ref).split(".")
  ).filter((code) => code !== "text" && code !== "open");
  return `[Errors](ERRORS.md): ${codes.map((code) => `\`${code}\``).join(", ")}.`;
}
