/** Generates a call's section: text, fields, an example, responses and errors. */
import { curlOf } from "../../routes/docs/curl.ts";
import {
  type CallOfGroup,
  type Document,
  type DocumentedCall,
  resolved,
  type Response,
  schemaName,
} from "../../routes/docs/document.ts";
import { type DocumentedField, documentedFields, sentField } from "../../routes/docs/fields.tsx";
import { fieldRow, fieldTable, typeText } from "./fields.ts";

/** Generates the block of one call. */
export function callBlock(document: Document, callOfGroup: CallOfGroup): string {
  const { call } = callOfGroup;
  const idempotency = document["x-idempotency-classes"][call["x-idempotency"]] ?? "";
  return [
    `${call.summary}. ${call.description}`,
    `${accessText(call)} Idempotency: ${idempotency}`,
    fieldTable(["field", "in", "type", "meaning"], [
      ...parameterRows(document, call),
      ...bodyRows(document, call),
    ]),
    fenced("sh", exampleText(callOfGroup)),
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
  return call.parameters.map(({ name, in: location, required, description = "", schema }) =>
    rowIn(document, location, {
      name,
      required: required && location !== "path",
      schema: { ...schema, description },
    })
  );
}

function bodyRows(document: Document, { requestBody }: DocumentedCall): string[][] {
  const bodySchema = requestBody?.content["application/json"]?.schema;
  if (bodySchema === undefined) return [];
  const schema = resolved(document, bodySchema);
  const variants = schema.oneOf?.map((variant) => resolved(document, variant)) ?? [schema];
  return variants.flatMap((variant) =>
    documentedFields(variant).map((field) => rowIn(document, "body", sentField(field)))
  );
}

/** Builds a row with the location of the field after its name. */
function rowIn(document: Document, location: string, field: DocumentedField): string[] {
  const [name = "", ...cells] = fieldRow(document, field);
  return [name, location, ...cells];
}

/** Builds the `curl` line, with the key that the call needs; a stream ends after two seconds. */
function exampleText(callOfGroup: CallOfGroup): string {
  const { call } = callOfGroup;
  const needsOperator = call["x-scope"] === null && call["x-operator"];
  const line = curlOf(callOfGroup) + (needsOperator ? ' -H "$O"' : "");
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

/** Formats JSON with a line for each member; the formatter breaks members that are too long. */
function sampleText(example: unknown): string {
  const members = Object.entries(example as object)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  return `{\n${members.join(",\n")}\n}`;
}

function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** Headers that most responses have; they are explained once. */
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

/** Lists the error codes; they are in the name of the shared response. */
function errorsLine({ responses }: DocumentedCall): string {
  const codes = Object.values(responses).flatMap(({ $ref }) =>
    $ref === undefined ? [] : schemaName($ref).split(".")
  ).filter((code) => code !== "text" && code !== "open");
  return `[Errors](ERRORS.md): ${codes.map((code) => `\`${code}\``).join(", ")}.`;
}
