/**
 * Contract of the mail client.
 *
 * @module
 */

/** Plain-text email. */
export interface Mail {
  /** Address of the recipient. */
  readonly to: string;
  /** Subject, one line. */
  readonly subject: string;
  /** Body. */
  readonly text: string;
  /** Message-ID without angle brackets, the same for all attempts: no spaces, at most 200 characters. */
  readonly messageId: string;
}

/** Sends emails. */
export interface Mailer {
  /**
   * Sends an email. Never rejects.
   *
   * @param beforeText called when the mail server is ready for the text, before any of it is sent; if
   * it rejects, the text is not sent
   * @param signal cancels the attempt
   */
  send(mail: Mail, beforeText: () => Promise<void>, signal: AbortSignal): Promise<SendOutcome>;
}

/** Outcome of an attempt. */
export type SendOutcome =
  | { readonly kind: "sent" }
  /** The mail server did not receive the text or rejected it. */
  | { readonly kind: "failed"; readonly error: string }
  /** The mail server got the text and did not answer. */
  | { readonly kind: "unknown"; readonly error: string };
