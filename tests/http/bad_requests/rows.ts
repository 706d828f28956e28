/**
 * Bad requests as data: one JSON object per line.
 *
 * In any text of a row `{{unit*count}}` means `count` repetitions, which keeps long values readable.
 * `batch` means `{events: [...]}` with good events and one bad event.
 */
import { events } from "../../support/builders/requests.ts";
import type { ErrorCode } from "../../../domain/core/errors.ts";

/** One bad request and how it must be refused. */
export interface Row {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Name of a credential; the first team's key if absent. */
  readonly key?: CredentialName;
  readonly headers?: Record<string, string>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly text?: string;
  /** Bytes sent unchanged. */
  readonly hex?: string;
  readonly batch?: Batch;
  readonly status: number;
  readonly error: ErrorCode;
  readonly field?: string;
}

/** A batch of good events with one replaced. */
export interface Batch {
  readonly size: number;
  readonly at?: number;
  readonly bad?: unknown;
}

/** Credentials that rows refer to. */
export type CredentialName =
  | "none"
  | "revoked"
  | "unknown"
  | "us"
  | "token"
  | "ingest"
  | "read"
  | "full"
  | "other"
  | "operator";

/** Numbers of good events in batches, far from stored ones. */
const GOOD_EVENTS_FROM = 10_000;

/** Kinds of configured objects, whose slugs, lists and bodies are refused in the same way. */
const KINDS = "{rules|silences|channels|checks|budgets|pauses|judges}";

/** All files of rows, by name. */
export function readRows(): Map<string, Row[]> {
  const folder = new URL(".", import.meta.url);
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name)
    .filter((name) => name.endsWith(".jsonl")).sort();
  return new Map(names.map((name) => [name, readFile<Row>(new URL(name, folder))]));
}

/** Repeats a line that has alternatives, such as `{spend|usage}`, for each of them. */
function alternatives(line: string): string[] {
  const all = /\{[\w./-]*(?:\|[\w./-]*)+\}/.exec(line)?.[0];
  if (all === undefined) return [line];
  return all.slice(1, -1).split("|").flatMap((one) => alternatives(line.replaceAll(all, one)));
}

/** The rows of one file. */
export function readFile<T>(file: URL): T[] {
  const lines = Deno.readTextFileSync(file).trimEnd().split("\n");
  return lines.flatMap((line) => alternatives(line.replaceAll("{kind}", KINDS)))
    .map((line) => expand(JSON.parse(line)) as T);
}

/** Converts the body of a row to the harness's format. */
export function bodyOf({ body, text, hex, batch }: Partial<Row>): unknown {
  if (hex !== undefined) return Uint8Array.fromHex(hex);
  if (batch === undefined) return text ?? body;
  const { size, at, bad } = batch;
  const list: unknown[] = events(GOOD_EVENTS_FROM, GOOD_EVENTS_FROM + size - 1);
  if (at !== undefined) list[at] = bad;
  return { events: list };
}

function expand(value: unknown): unknown {
  if (typeof value === "string") {
    return value.replace(
      /\{\{(.+?)\*(\d+)\}\}/gs,
      (_, unit: string, count: string) => unit.repeat(Number(count)),
    );
  }
  if (Array.isArray(value)) return value.map(expand);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [expand(key) as string, expand(part)]),
  );
}
