/** The body, read once: bounded in bytes, time and depth (decisions 10 and 11). */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Principal, TeamId } from "../../domain/credentials.ts";
import type { Deadlines } from "../../domain/deadlines.ts";
import { type Parsed, refuse } from "../../domain/errors.ts";
import { BODY_BYTES_MAX } from "../../domain/limits.ts";
import { parseBody } from "../../domain/input/parse.ts";
import { fail } from "../answer.ts";
import type { Guard, RequestContext } from "../context.ts";
import { OVERLOADED, type Room } from "./room.ts";

const inflate = promisify(gunzip);
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads the body as a JSON object, whatever its Content-Type says.
 *
 * @param onRead is given the inflated size of each body that was read, also of one that is refused then
 */
export function readJsonBody(
  deadlines: Deadlines,
  room: Room,
  onRead: (c: RequestContext, bytes: number) => void = () => {},
): Guard {
  return readBody(deadlines, room, onRead, (c, text) => {
    const parsed = parseBody(text);
    if (!parsed.ok) return fail(c, parsed.problem);
    c.set("body", parsed.value);
    return null;
  });
}

/** Reads the body as the fields of a form; what is no form has none of the fields asked for. */
export function readForm(deadlines: Deadlines, room: Room): Guard {
  return readBody(deadlines, room, () => {}, (c, text) => {
    c.set("form", new URLSearchParams(text));
    return null;
  });
}

function readBody(
  deadlines: Deadlines,
  room: Room,
  onRead: (c: RequestContext, bytes: number) => void,
  take: (c: RequestContext, text: string) => Response | null,
): Guard {
  const late = () =>
    refuse<string>("body_timeout", `The body took over ${deadlines.ms} ms: send it again`);
  return async (c) => {
    const principal: Principal | undefined = c.get("principal");
    const team = principal?.team.id ?? NOBODY;
    const bytes = bytesAnnounced(c.req.raw);
    if (!room.takeBytes(team, bytes)) return fail(c, OVERLOADED);
    let text: Parsed<string>;
    try {
      text = await deadlines.within(readText(c.req.raw, (read) => onRead(c, read)), late);
    } finally {
      room.giveBytes(team, bytes);
    }
    return text.ok ? take(c, text.value) : fail(c, text.problem);
  };
}

/** Whose room those who are not signed in take. */
const NOBODY = "" as TeamId;

/** Most bytes a body can take: one that announces more is refused as too large, not for want of room. */
function bytesAnnounced({ headers }: Request): number {
  const announced = Number(headers.get("content-length") ?? BODY_BYTES_MAX);
  return Math.min(announced, BODY_BYTES_MAX);
}

async function readText(
  request: Request,
  onRead: (bytes: number) => void,
): Promise<Parsed<string>> {
  const { headers } = request;
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    const message = "Send the body as it is or with Content-Encoding: gzip";
    return refuse("unsupported_encoding", message);
  }
  const announced = headers.get("content-length");
  // Refused by its announced length before a byte is read.
  if (Number(announced) > BODY_BYTES_MAX) return tooLarge();
  let sent: Parsed<Uint8Array>;
  try {
    // One of announced length is taken whole: the announcement was within the limit, and the server
    // holds clients to it. Only a body without one is counted as it comes.
    sent = announced === null
      ? await readCounting(request.body)
      : { ok: true, value: await request.bytes() };
  } catch {
    // A broken chunk or a connection that closed early; whoever sent it is mostly gone.
    return refuse("invalid_json", "The body ended early: send it again");
  }
  if (sent.ok && encoding === "gzip") sent = await inflated(sent.value);
  if (!sent.ok) return sent;
  onRead(sent.value.length);
  return decoded(sent.value);
}

function decoded(bytes: Uint8Array): Parsed<string> {
  try {
    return { ok: true, value: utf8.decode(bytes) };
  } catch {
    return refuse("invalid_json", "The body is not UTF-8: encode it as UTF-8");
  }
}

async function readCounting(body: ReadableStream<Uint8Array> | null): Promise<Parsed<Uint8Array>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early cancels the stream.
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return tooLarge();
    chunks.push(chunk);
  }
  return { ok: true, value: concat(chunks, length) };
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

/** Inflates under the same limit, so that a small bomb stays small. */
async function inflated(bytes: Uint8Array): Promise<Parsed<Uint8Array>> {
  try {
    return { ok: true, value: await inflate(bytes, { maxOutputLength: BODY_BYTES_MAX }) };
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") return tooLarge();
    return refuse("invalid_json", "The body is not valid gzip: check Content-Encoding");
  }
}

function tooLarge(): Parsed<never> {
  const message = `The body is larger than ${BODY_BYTES_MAX} bytes: send smaller batches`;
  return refuse("payload_too_large", message);
}
