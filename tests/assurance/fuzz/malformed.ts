/** Malformed, partial and malicious HTTP requests. */
import { gzipSync } from "node:zlib";
import type { Random } from "../../../tools/random.ts";
import { BODY_BYTES_MAX } from "../../../domain/core/limits.ts";
import {
  AMBIGUOUS,
  AUTH,
  BAD_CHUNK_SIZES,
  BODY,
  chunked,
  get,
  head,
  LENGTH,
  post,
  SIZE,
  SMUGGLED,
} from "../../support/harness/raw_socket.ts";
import { type Draft, Drafts } from "./drafts.ts";
import { write } from "./requests.ts";
import { type Shot, shot } from "./shot.ts";

/** Small on the wire, large after decompression. */
const BOMB = gzipSync(new Uint8Array(10 * BODY_BYTES_MAX));

const complete = (start: string, ...headers: string[]) =>
  head(start, ...headers, AUTH, LENGTH) + BODY;

/** Malformed requests: nothing after them on the same connection may run either. */
const BROKEN = [
  ...[...Object.values(AMBIGUOUS), "\x16\x03\x01\x02\0\x01\0\r\n\r\n", "GET /healthz\r\n\r\n"],
  ...BAD_CHUNK_SIZES.map((size) => chunked(size, BODY, "0", "", "")),
  ...["HTTP/2.0", "HTTP/1.1.1", "HTTP/11", "http/1.1", "HTTP 1.1", "HTTP/", "HTTP/1.1 x", "FTP/1.1"]
    .map((version) => complete(`POST /v1/runs ${version}`, "Host: x")),
  ...["", " ", "P\0ST", "PO ST", "POST,", "(POST)", "\u00e9", "POST\t"]
    .map((method) => complete(`${method} /v1/runs HTTP/1.1`, "Host: x")),
  ...["", "v1/runs", "%2Fv1%2Fruns", "*", "?", "x:80", "/v1/ru\0ns", "/v1/runs\tx", "/v1/runs x"]
    .map((target) => complete(`POST ${target} HTTP/1.1`, "Host: x")),
  ...["X\0: y", "X Y: z", ": y", "X", "X\x7f: y", "X: \x01", "X: y\x7f", "X\u00e9: y", "X;: y"]
    .map((header) => post([header, LENGTH]) + BODY),
] as const;

/** HTTP requests that must be refused. */
const UNWELCOME = [
  ...["Host:", "Host: x y", "Host: x\r\nHost: y", "Host: x\r\nHost: x", "Accept: */*", " Host: x"]
    .map((header) => complete("POST /v1/runs HTTP/1.1", header)),
  ...["CONNECT", "PRI", "PATCH", "TRACE", "post"]
    .map((method) => complete(`${method} /v1/runs HTTP/1.1`, "Host: x")),
  ...["Content-Length: 100000000", `Content-Length: ${BODY_BYTES_MAX + 1}`].map((length) =>
    post([length])
  ),
] as const;

/** Returns a request that must be refused, followed by a valid one where that must not run. */
function refused(random: Random): Shot {
  const bytes = random.chance(0.8)
    ? random.pick(BROKEN as unknown as [string, ...string[]]) + SMUGGLED
    : random.pick(UNWELCOME as unknown as [string, ...string[]]);
  return shot("malformed", [bytes], { mustRefuse: true, ending: "finish" });
}

/** Unambiguous but unusual requests: any response is allowed if it does no harm. */
const STRANGE = [
  ...["\r\n\r\n", "\n", "\r"].map((before) => before + post([LENGTH]) + BODY),
  post([LENGTH]).replaceAll("\r\n", "\n") + BODY,
  post([LENGTH]).replace("1.1", "1.0") + BODY,
  post([LENGTH, LENGTH]) + BODY,
  post([LENGTH]) + BODY + BODY,
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
  chunked(SIZE, BODY, "0", ...Array(50).fill("X-Trailer: y"), AUTH, "", ""),
  chunked(`${SIZE};${"x".repeat(20_000)}`, BODY, "0", "", ""),
  chunked(...[...BODY].flatMap((char) => ["1", char]), "0", "", ""),
  chunked(`0000000${SIZE}`, BODY, "0000", "", ""),
  ...["close", "upgrade", "close, keep-alive", "Content-Length", "Host", "\t,,"]
    .map((token) => post([LENGTH, `Connection: ${token}`]) + BODY),
  ...["h2c", "websocket", "TLS/1.0", "x"]
    .map((to) => post([LENGTH, `Upgrade: ${to}`, "Connection: upgrade"]) + BODY),
  ...["100-continue", "200-maybe", ""].map((what) => post([LENGTH, `Expect: ${what}`]) + BODY),
  ...["http:///v1/runs", "http://x", "HTTP://X:0/v1/runs", "/v1/runs?\u00e9", "/v1/runs#x", "/\\"]
    .map((target) => post([LENGTH], target) + BODY),
  get("/healthz", "Host: x", "Content-Length: 5") + "hello",
  get("/healthz", "Host: x", "Transfer-Encoding: chunked") + "5\r\nhello\r\n0\r\n\r\n",
] as const;

function strange(random: Random): Shot {
  const bytes = random.pick(STRANGE as unknown as [string, ...string[]]);
  return shot("malformed", [bytes], { ending: "finish" });
}

/** Returns a request with far too much of one thing. */
function bomb(random: Random): Shot {
  const many = random.int(80, 3_000);
  const far = 10 ** random.int(4, 6);
  const chunks = random.pick<() => (string | Uint8Array)[]>([
    () => [post([LENGTH, ...Array.from({ length: many }, (_, n) => `X-${n}: y`)]), BODY],
    () => [post([LENGTH, `X: ${"y".repeat(far)}`]), BODY],
    () => [post([LENGTH, `${"X".repeat(far)}: y`]), BODY],
    () => [post([LENGTH, `Cookie: ${"a=b; ".repeat(many)}`]), BODY],
    () => [post([LENGTH], `/v1/runs?${"a=b&".repeat(many)}`), BODY],
    () => [get(`/v1/${"x".repeat(far)}`, "Host: x", AUTH)],
    () => [get(`/v1${"/x".repeat(many)}`, "Host: x", AUTH)],
    () => [`${"G".repeat(far)} / HTTP/1.1\r\n\r\n`],
    () => ["\r\n".repeat(many), post([LENGTH]), BODY],
    () => [post([`Content-Length: ${BOMB.length}`, "Content-Encoding: gzip"]), BOMB],
    () => [post([`Content-Length: ${far}`]), `{"a":${"1".repeat(far - 6)}}`],
    () => [post(["Transfer-Encoding: chunked"]), `10000\r\n${"x".repeat(0x10000)}\r\n`.repeat(20)],
  ])();
  return shot("bombs", chunks, { ending: "finish" });
}

/** Returns the bytes of a valid request that stores something. */
function good(random: Random): Uint8Array {
  const drafts = new Drafts(random, true);
  let draft: Draft;
  do draft = drafts.next(); while (draft.text === null || draft.patient);
  const chunks = random.chance(0.3) ? random : null;
  return write("", draft, { headers: [AUTH], chunked: chunks }).bytes;
}

/** Returns a valid request with some bytes changed. */
function flipped(random: Random): Shot {
  const bytes = good(random);
  for (let flips = random.int(1, 4); flips > 0; flips--) {
    const at = random.int(0, bytes.length - 1);
    bytes[at] = random.chance(0.5) ? (bytes[at] ?? 0) ^ 1 << random.int(0, 7) : random.int(0, 255);
  }
  return shot("flipped bytes", [bytes], { ending: "finish" });
}

/** Returns a valid request that ends early. */
function halved(random: Random): Shot {
  const bytes = good(random);
  const ending = random.pick<Shot["ending"]>(["break", "vanish"]);
  // Every proper prefix is incomplete: even the last byte of the last chunk is required.
  return shot("halves", [bytes.subarray(0, random.int(0, bytes.length - 1))], {
    mustRefuse: true,
    ending,
  });
}

function noise(random: Random): Shot {
  return shot("malformed", [random.bytes(random.int(1, 2_000))], {
    mustRefuse: true,
    ending: "finish",
  });
}

/** Returns any request of this file. */
export function malformed(random: Random): Shot {
  return random.pick([refused, refused, refused, strange, flipped, flipped, halved, halved, noise])(
    random,
  );
}

/** A few of these are enough: they are large. */
export function oversized(random: Random): Shot {
  return bomb(random);
}
