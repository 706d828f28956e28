/**
 * Shapes of all stored rows: the fields of the rows of each family of keys, as a filled store has
 * them, and the shapes that codecs declare.
 */
import { unpackBlob } from "../../../kv/base/blob.ts";
import { STORED_SHAPES } from "../../../kv/base/codec_sums.ts";
import type { Store } from "../../../kv/store.ts";

/** Families that processes write about themselves, at times of their own. */
const OF_PROCESSES = new Set(["lease", "receipt", "probe", "rate_bucket", "dirty"]);

/** Families with a part of the key that names the row. */
const NAMED: Readonly<Record<string, number>> = { run: 3, events: 3, config: 2, due: 2 };

/** Returns the shapes of a store by family, and the declared ones by name. */
export async function shapesOf(store: Store): Promise<Record<string, unknown>> {
  const families = new Map<string, Set<string>>();
  for await (const { key, value } of store.reader.list({ prefix: [] })) {
    if (OF_PROCESSES.has(String(key[0]))) continue;
    const name = nameOf(key);
    const fields = families.get(name) ?? new Set<string>();
    families.set(name, fields);
    addFields(fields, "", decoded(value));
  }
  const rows = [...families].map(([name, fields]) => [`row ${name}`, [...fields].sort()] as const);
  const codecs = [...STORED_SHAPES].map(([name, shape]) => [`codec ${name}`, shape] as const);
  return Object.fromEntries([...rows, ...codecs].sort(([a], [b]) => a < b ? -1 : 1));
}

function nameOf([family, ...parts]: Deno.KvKey): string {
  // Its keys are those of the families whose rows it holds.
  if (family === "block") return "block";
  const at = NAMED[String(family)] ?? NaN;
  return [family, ...parts.map((part, i) => i + 1 === at ? part : typeOf(part))].join("/");
}

function typeOf(value: unknown): string {
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof Deno.KvU64) return "counter";
  return value === null ? "null" : typeof value;
}

/** Returns the JSON of a text or of a compressed value; bytes of other kinds have a codec. */
function decoded(value: unknown): unknown {
  try {
    if (typeof value === "string") return JSON.parse(value);
    if (value instanceof Uint8Array) return parsed(unpackBlob(value, []));
  } catch {
    // Not JSON.
  }
  return value;
}

/** Parses a text, or its first line: payloads follow that of a batch. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return JSON.parse(text.split("\n", 1)[0] ?? "");
  }
}

/** Adds the paths of all fields with their types. Names that only values have are `*`. */
function addFields(fields: Set<string>, path: string, value: unknown): void {
  if (Array.isArray(value)) {
    // A short list of several types is a tuple.
    const isTuple = new Set(value.map(typeOf)).size > 1;
    fields.add(`${path}[]`);
    value.forEach((each, i) => addFields(fields, `${path}[${isTuple ? i : ""}]`, each));
  } else if (value instanceof Object && typeOf(value) === "object") {
    for (const [name, each] of Object.entries(value)) {
      const isName = /^[a-z][A-Za-z_]*$/.test(name);
      addFields(fields, `${path}.${isName ? name : "*"}`, each);
    }
  } else fields.add(`${path} ${typeOf(value)}`.trim());
}
