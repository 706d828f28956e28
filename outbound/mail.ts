/**
 * E-mail by SMTP.
 *
 * It drives nodemailer's connection instead of its transport, because the text must not leave before
 * the caller has noted that it does: the connection reads it only once the server is ready for it.
 *
 * @module
 */
import { Readable } from "node:stream";
import MailComposer from "nodemailer/lib/mail-composer";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { isLoopback } from "../domain/core/loopback.ts";
import { NOTICE_SEND_MS_MAX } from "../domain/teams/quota_notice.ts";
import type { Mail, Mailer, SendOutcome } from "../domain/core/mail.ts";

/** Milliseconds a mail server may be silent. */
const SILENCE_MS_MAX = 10_000;

/** Milliseconds to take leave of a mail server that has taken the message. */
const GOODBYE_MS_MAX = 500;

/** Name given to mail servers: the machine's own would need a permission of its own. */
const CLIENT_NAME = "[127.0.0.1]";

/** Where e-mail is handed in. */
interface MailServer {
  readonly host: string;
  readonly port: number;
  /** True if TLS comes first; otherwise it begins when the server offers it. */
  readonly secure: boolean;
  readonly login: { readonly user: string; readonly pass: string } | null;
}

/** Reads `smtp://[user:password@]host[:port]`, or `smtps://`; null when it is no such URL. */
export function parseMailServer(text: string): MailServer | null {
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const secure = url.protocol === "smtps:";
  const { hostname, username, password, pathname, search, hash } = url;
  const plain = /^\/?$/.test(pathname) && search === "" && hash === "" && hostname !== "";
  if (!plain || (!secure && url.protocol !== "smtp:")) return null;
  try {
    return {
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
      secure,
      login: username === ""
        ? null
        : { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    };
  } catch {
    return null;
  }
}

/**
 * Creates a mailer.
 *
 * @param url of the mail server, checked before
 * @param sendMsMax the longest one try takes
 */
export function createMailer(url: string, sendMsMax = NOTICE_SEND_MS_MAX): Mailer {
  const server = parseMailServer(url);
  if (server === null) throw new TypeError("No URL of a mail server");
  return { send: (mail, onHandOver, signal) => send(server, mail, onHandOver, sendMsMax, signal) };
}

async function send(
  server: MailServer,
  mail: Mail,
  onHandOver: () => Promise<void>,
  msMax: number,
  signal: AbortSignal,
): Promise<SendOutcome> {
  let isHandedOver = false;
  const connection = connect(server);
  // One limit over all: a server that drips a byte now and then is never silent.
  const limit = AbortSignal.any([signal, AbortSignal.timeout(msMax)]);
  try {
    const from = senderOf(server, mail);
    const text = await messageText(from, mail);
    const message = Readable.from(once(text, async () => {
      await onHandOver();
      isHandedOver = true;
    }));
    await unlessAborted(limit, transfer(connection, server, from, mail.to, message));
    await unlessAborted(AbortSignal.timeout(GOODBYE_MS_MAX), leave(connection)).catch(() => {});
    return { kind: "sent" };
  } catch (error) {
    // Having refused it, the server has not kept it.
    const failed = !isHandedOver || isRefusal(error);
    return { kind: failed ? "failed" : "unknown", error: reasonOf(error) };
  } finally {
    connection.close();
  }
}

/** A text in one piece, after what must be done before anybody reads it. */
async function* once(text: Uint8Array, before: () => Promise<void>): AsyncGenerator<Uint8Array> {
  await before();
  yield text;
}

function connect({ host, port, secure, login }: MailServer): SMTPConnection {
  const connection = new SMTPConnection({
    host,
    port,
    secure,
    // Otherwise an attacker who strips the offer of TLS from the greeting would get the password.
    requireTLS: login !== null && !isLoopback(host),
    name: CLIENT_NAME,
    connectionTimeout: SILENCE_MS_MAX,
    greetingTimeout: SILENCE_MS_MAX,
    socketTimeout: SILENCE_MS_MAX,
    socketCloseTimeout: 0,
  });
  // `transfer` reports errors while it waits; later ones have no consumer.
  connection.on("error", () => {});
  return connection;
}

/** Takes a message to the point where the server has accepted it. */
async function transfer(
  connection: SMTPConnection,
  { login }: MailServer,
  from: string,
  to: string,
  message: Readable,
): Promise<void> {
  const lost = new Promise<never>((_, reject) => connection.on("error", reject));
  const done = (async () => {
    await called((answer) => connection.connect(answer));
    if (login !== null) {
      await called((answer) => connection.login({ credentials: login }, answer));
    }
    await called((answer) => connection.send({ from, to }, message, answer));
  })();
  await Promise.race([done, lost]);
}

async function leave(connection: SMTPConnection): Promise<void> {
  const end = new Promise<void>((resolve) => connection.once("end", resolve));
  connection.quit();
  await end;
}

/** Turns a call that answers by callback into a promise. */
function called(call: (answer: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    call((error) => error ? reject(error) : resolve());
  });
}

/** Waits, but not beyond a signal. */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  // A loser of the race must not count as unhandled.
  work.catch(() => {});
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(new Error("The mail server took too long"));
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

function messageText(from: string, { to, subject, text, messageId }: Mail): Promise<Uint8Array> {
  const message = new MailComposer({
    from: { name: "Runledger", address: from },
    to,
    subject,
    text,
    messageId: `<${messageId}>`,
    // So that no holiday answer comes back (RFC 3834).
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return message.compile().build();
}

/** The account's own address where it is one: many servers take no other. */
function senderOf({ login }: MailServer, { to }: Mail): string {
  return login?.user.includes("@") ? login.user : to;
}

/** What nodemailer adds to its errors. */
interface SmtpError extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
}

function isRefusal(error: unknown): boolean {
  return ((error as SmtpError).responseCode ?? 0) >= 400;
}

/** Why a try failed; of a login only the code, since servers may repeat what they were sent. */
function reasonOf(error: unknown): string {
  const { code, command, responseCode, message } = error as SmtpError;
  const text = command?.startsWith("AUTH") || code === "EAUTH" ? "The login failed" : message;
  return [text.slice(0, 300), code, responseCode].filter((part) => part !== undefined).join(", ");
}
