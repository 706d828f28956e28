/** Bytes to send to the service, and the allowed outcomes. */

/** One request, possibly malformed. */
export interface Shot {
  /** Row of the table of responses. */
  readonly kind: string;
  readonly bytes: Uint8Array;
  /** True if its response has no body. */
  readonly isHead: boolean;
  /** True if it may be answered once others are stored: a read, or a further finish (R35). */
  readonly mayPassLater: boolean;
  /** True if a success would be a vulnerability. Some of the others are valid requests. */
  readonly mustRefuse: boolean;
  /**
   * Use of the connection:
   * - `keep`: well-formed HTTP; others may follow, and a refusal has the error envelope.
   * - `finish`: a separate connection, which the client ends after the response.
   * - `break`: the client ends its side immediately, then reads the reaction.
   * - `vanish`: the client closes the connection.
   */
  readonly ending: "keep" | "finish" | "break" | "vanish";
  /** True if the service may take longer because the call waits for a repricing. */
  readonly patient: boolean;
}

const encoder = new TextEncoder();

/** Creates a shot of text and bytes: by default well-formed HTTP that may succeed. */
export function shot(
  kind: string,
  chunks: readonly (string | Uint8Array)[],
  more: Partial<Omit<Shot, "kind" | "bytes">> = {},
): Shot {
  const bytes = joined(
    chunks.map((chunk) => typeof chunk === "string" ? encoder.encode(chunk) : chunk),
  );
  const usual = { isHead: false, mayPassLater: false, mustRefuse: false, patient: false };
  return { kind, bytes, ending: "keep", ...usual, ...more };
}

/** Concatenates bytes. */
export function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Formats a shot for a report: a short one completely, a long one truncated. */
export function showShot({ kind, bytes, ending }: Shot): string {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, 600));
  const more = bytes.length > 600 ? ` … ${bytes.length} bytes` : "";
  return `${kind}, ${ending}: ${JSON.stringify(text)}${more}`;
}
