/**
 * Answers of OTLP: successes with what was rejected, and errors as `google.rpc.Status`, each in the
 * encoding of its request.
 */
import { PbfWriter } from "pbf";
import { ERRORS } from "../../domain/core/errors.ts";
import { rawOf } from "../../domain/core/raw_json.ts";
import { answerText } from "../http/answer.ts";
import type { Refuse, RequestContext } from "../http/context.ts";

/** Encodings of requests and answers. */
export type Encoding = "json" | "protobuf";

const TYPES: Readonly<Record<Encoding, string>> = {
  json: "application/json",
  protobuf: "application/x-protobuf",
};

/** Returns the encoding of a request; null for any other media type. */
export function encodingOf(c: RequestContext): Encoding | null {
  const header = c.req.raw.headers.get("content-type") ?? "";
  const type = (header.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (type === TYPES.json) return "json";
  return type === TYPES.protobuf || type === "application/protobuf" ? "protobuf" : null;
}

/** Spans of a request that were not stored, and why. */
export interface PartialSuccess {
  /** Number of rejected spans. */
  readonly rejected: number;
  /** Reasons, or a warning. */
  readonly message: string;
}

/** Answers a request that is stored, but for what `partial` names. */
export function answerStored(
  c: RequestContext,
  encoding: Encoding,
  partial: PartialSuccess | null,
  headers: Record<string, string> = {},
): Response {
  if (encoding === "json") {
    const { rejected = 0, message = "" } = partial ?? {};
    const members = { rejectedSpans: String(rejected), errorMessage: message };
    const text = rawOf(partial === null ? {} : { partialSuccess: members });
    return answerText(c, 200, text, TYPES.json, headers);
  }
  // Nearly every answer is empty, and a writer takes longer than the rest of it.
  const bytes = partial === null ? NO_BYTES : bytesOfPartial(partial);
  return answerText(c, 200, bytes, TYPES.protobuf, headers);
}

const NO_BYTES = new Uint8Array();

function bytesOfPartial(partial: PartialSuccess): Uint8Array<ArrayBuffer> {
  const pbf = new PbfWriter();
  pbf.writeMessage(1, ({ rejected, message }, inner) => {
    if (rejected > 0) inner.writeVarintField(1, rejected);
    inner.writeStringField(2, message);
  }, partial);
  return bytesOf(pbf);
}

/** Numbers of gRPC by status; 13 is an internal error. */
const GRPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  405: 12,
  409: 6,
  413: 8,
  415: 3,
  429: 8,
  503: 14,
};

/**
 * Maximum seconds that an exporter is asked to wait: those in Python have ten seconds for all tries, and
 * drop a batch that has to wait longer.
 */
const RETRY_SECONDS_MAX = 3;

/** Answers with an error. A late body is 503, because exporters repeat no 408. */
export const refuseWithStatus: Refuse = (c, { code, message }, headers) => {
  const status = code === "body_timeout" ? 503 : ERRORS[code].status;
  const seconds = Math.min(RETRY_SECONDS_MAX, Number(headers["Retry-After"] ?? RETRY_SECONDS_MAX));
  const all = {
    ...headers,
    ...status === 429 || status === 503 ? { "Retry-After": String(seconds) } : {},
    ...status === 415 ? { "Accept-Encoding": "gzip, deflate" } : {},
  };
  const fields = { code: GRPC_CODES[status] ?? 13, message: `${code} ${message}` };
  if (encodingOf(c) !== "protobuf") return answerText(c, status, rawOf(fields), TYPES.json, all);
  const pbf = new PbfWriter();
  pbf.writeVarintField(1, fields.code);
  pbf.writeStringField(2, fields.message);
  return answerText(c, status, bytesOf(pbf), TYPES.protobuf, all);
};

/** Returns what was written, in memory of its own. */
function bytesOf(pbf: PbfWriter): Uint8Array<ArrayBuffer> {
  return new Uint8Array(pbf.finish());
}
