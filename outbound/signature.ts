/**
 * Signatures of webhooks, as Standard Webhooks 1.0.0 defines them.
 *
 * @module
 */
import { createHmac } from "node:crypto";

/** A request to sign. */
export interface Signed {
  /** Identifier of the message, the same for all tries. */
  readonly id: string;
  /** Time of the try, unix seconds. */
  readonly seconds: number;
  readonly body: string;
}

/**
 * Returns the headers of a signed request.
 *
 * @param secrets `whsec_` and base64, the newest first; each signs. A text that is not base64 throws
 */
export function signatureHeaders(
  { id, seconds, body }: Signed,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Uint8Array.fromBase64(secret.replace(/^whsec_/, ""));
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signatures.join(" "),
  };
}
