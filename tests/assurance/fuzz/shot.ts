/** What is sent to the service, as bytes, and what may come of it. */

/** One request, or what passes for one. */
export interface Shot {
  /** Row of the table that counts its answers. */
  readonly kind: string;
  readonly bytes: Uint8Array;
  /** Whether its answer has no body. */
  readonly isHead: boolean;
  /** Whether it can store nothing, whatever it gets. */
  readonly isRead: boolean;
  /** Whether a success would be a hole. Of the others some are good requests. */
  readonly mustRefuse: boolean;
  /**
   * `keep`: it is HTTP, others may follow on the connection, and a refusal has our envelope;
   * `finish`: it has a connection to itself, which its client ends once there is an answer;
   * `break`: which its client ends at once, to hear what the service says to that;
   * `vanish`: which its client leaves.
   */
  readonly ending: "keep" | "finish" | "break" | "vanish";
  /** Whether the service may take longer: a repricing is waited for. */
  readonly patient: boolean;
}

const encoder = new TextEncoder();

/** A shot of text and bytes, one of HTTP that may succeed unless told otherwise. */
export function shot(
  kind: string,
  parts: readonly (string | Uint8Array)[],
  more: Partial<Omit<Shot, "kind" | "bytes">> = {},
): Shot {
  const bytes = joined(parts.map((part) => typeof part === "string" ? encoder.encode(part) : part));
  const usual = { isHead: false, isRead: false, mustRefuse: false, patient: false };
  return { kind, bytes, ending: "keep", ...usual, ...more };
}

/** Bytes one after the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A shot as a report shows it: all of a short one on one line, the beginning of a long one. */
export function showShot({ kind, bytes, ending }: Shot): string {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, 600));
  const more = bytes.length > 600 ? ` … ${bytes.length} bytes` : "";
  return `${kind}, ${ending}: ${JSON.stringify(text)}${more}`;
}
