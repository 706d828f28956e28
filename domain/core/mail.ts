/**
 * Contract of the mail client.
 *
 * @module
 */

/** Reason why no mail is sent without a mail server. */
export const NO_MAIL_SERVER = "There is no mail server: the operator must set RUNLEDGER_SMTP_URL";

/** Email. */
export interface Mail {
  /** Addresses of the recipients, at least one. */
  readonly to: readonly string[];
  /** Subject, one line. */
  readonly subject: string;
  /** Body. */
  readonly text: string;
  /** The same as HTML; absent for text alone. */
  readonly html?: string;
  /** Message-ID without angle brackets, the same for all attempts: no spaces, at most 200 characters. */
  readonly messageId: string;
  /** Message-IDs of its threads, without angle brackets; absent for none. */
  readonly references?: readonly string[];
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

/** Outcome of an attempt. `status` is the last answer of the mail server; absent without one. */
export type SendOutcome =
  /** The mail server accepted it, but not for `refused` of the recipients; absent for none. */
  | { readonly kind: "sent"; readonly refused?: number }
  /** The mail server did not receive the text or rejected it. */
  | { readonly kind: "failed"; readonly error: string; readonly status?: number }
  /** The mail server got the text and did not answer. */
  | { readonly kind: "unknown"; readonly error: string; readonly status?: number };
