/**
 * The contract of the mail client.
 *
 * @module
 */

/** An e-mail in plain text. */
export interface Mail {
  /** Address of the recipient. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  /** The text. */
  readonly text: string;
  /** The same for each try of one message, without its angle brackets: no space, at most 200 characters. */
  readonly messageId: string;
}

/** Sends e-mails. */
export interface Mailer {
  /**
   * Sends one. It never rejects.
   *
   * @param given called once the mail server is ready for the text and before it gets any; when it
   * rejects, the server does not get it
   * @param signal ends the try early
   */
  send(mail: Mail, given: () => Promise<void>, signal: AbortSignal): Promise<SendOutcome>;
}

/** What came of a try. */
export type SendOutcome =
  | { readonly kind: "sent" }
  /** The mail server has not got it, or has refused it. */
  | { readonly kind: "failed"; readonly error: string }
  /** The mail server was given it and has not answered. */
  | { readonly kind: "unknown"; readonly error: string };
