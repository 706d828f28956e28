/**
 * Generates the marked blocks of `docs/API.md` and `docs/ERRORS.md` from the served OpenAPI
 * document. Text outside of the markers stays unchanged.
 *
 * `deno task docs` writes the files; a test fails while they are not current.
 */
import { ENDPOINTS } from "../../routes/api/endpoints.ts";
import { documentText } from "../../routes/openapi/document.ts";
import { type Document, documentedCalls } from "../../routes/docs/document.ts";
import { documentedFields } from "../../routes/docs/fields.tsx";
import { formatted } from "../format.ts";
import { callBlock } from "./call_block.ts";
import { fieldRow, fieldTable } from "./fields.ts";

const ROOT = new URL("../../", import.meta.url);

/** Documents with generated blocks. */
export const GENERATED_DOCUMENTS = ["docs/API.md", "docs/ERRORS.md"] as const;

/** Returns the OpenAPI document as `GET /openapi.json` serves it. Runs no code of the routes. */
export function servedDocument(): Document {
  return JSON.parse(documentText(ENDPOINTS));
}

/** Generates all blocks, by the name in their marker. */
function generatedBlocks(document: Document): ReadonlyMap<string, string> {
  return new Map([
    ...documentedCalls(document).map((callOfGroup) =>
      [callOfGroup.call.operationId, callBlock(document, callOfGroup)] as const
    ),
    ["headers", headersBlock(document)],
    ["schemas", schemasBlock(document)],
    ["errors", errorsBlock(document)],
  ]);
}

function headersBlock({ components }: Document): string {
  const headers = Object.entries(components.headers);
  return fieldTable(
    ["header", "meaning"],
    headers.map(([name, { description }]) => [`\`${name}\``, description]),
  );
}

/** Generates a section for each object that responses and bodies refer to. */
function schemasBlock(document: Document): string {
  const bodies = new Set(
    documentedCalls(document).map(({ call }) =>
      call.requestBody?.content["application/json"]?.schema.$ref
    ),
  );
  return Object.entries(document.components.schemas)
    .filter(([name, schema]) =>
      schema.properties !== undefined && !bodies.has(`#/components/schemas/${name}`)
    )
    .map(([name, schema]) => {
      const rows = documentedFields(schema).map((field) => fieldRow(document, field));
      return [
        `### ${name}`,
        schema.description ?? "",
        fieldTable(["field", "type", "meaning"], rows),
      ]
        .join("\n\n");
    })
    .join("\n\n");
}

function errorsBlock(document: Document): string {
  return fieldTable(
    ["code", "status", "retry", "meaning"],
    document["x-errors"].map(({ code, status, retry, meaning }) => [
      `[\`${code}\`](#${code})`,
      String(status),
      retry ? "yes" : "no",
      meaning,
    ]),
  );
}

/** Replaces the generated blocks of a document. Throws for an unknown name in a marker. */
function withBlocks(text: string, blocks: ReadonlyMap<string, string>): string {
  return text.replaceAll(/(<!-- generated: (\w+) -->\n).*?<!-- end -->/gs, (_, marker, name) => {
    const block = blocks.get(name);
    if (block === undefined) throw new Error(`No generated block has the name "${name}"`);
    return `${marker}\n${block}\n\n<!-- end -->`;
  });
}

/** Returns the current text of a document, formatted by `deno fmt`. */
export async function currentText(path: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(path, ROOT));
  return await formatted(withBlocks(text, generatedBlocks(servedDocument())), "md");
}

if (import.meta.main) {
  for (const path of GENERATED_DOCUMENTS) {
    await Deno.writeTextFile(new URL(path, ROOT), await currentText(path));
  }
}
