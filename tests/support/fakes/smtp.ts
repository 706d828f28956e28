/** A real mail server in this process, which keeps its messages or misbehaves. */
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";

/** A message as accepted. */
interface Received {
  /** Sender of the envelope, and of the header. */
  readonly from: string;
  readonly fromHeader: string;
  readonly to: readonly string[];
  readonly messageId: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string | undefined;
  /** Message-IDs of its threads, as sent; empty without any. */
  readonly references: string;
  readonly inReplyTo: string;
}

/**
 * Behavior of a server: accept, refuse a recipient or a message, or stop responding at some point.
 */
export type Behaviour =
  | "accept"
  | "refuse recipient"
  | "refuse text"
  | "silent greeting"
  | "silent recipient"
  | "silent text"
  /** Accepts the text, and closes the connection instead of answering. */
  | "die after text";

interface SmtpOptions {
  readonly login?: { readonly user: string; readonly pass: string };
}

/** Sender of the mail of tests. */
export const SENDER = "ledger@example.org";

/** A mail server. Always `await using`. */
export class SmtpSink implements AsyncDisposable {
  behaviour: Behaviour = "accept";
  /** Messages received completely, with or without a response. */
  readonly received: Received[] = [];
  connections = 0;
  logins = 0;
  recipients = 0;
  #waiting: (() => void)[] = [];
  readonly #server: SMTPServer;
  readonly #options: SmtpOptions;

  private constructor(options: SmtpOptions) {
    this.#options = options;
    this.#server = this.#create();
    // A killed client breaks its connection, which the tests expect.
    this.#server.on("error", () => {});
  }

  static async start(options: SmtpOptions = {}): Promise<SmtpSink> {
    const sink = new SmtpSink(options);
    await new Promise<void>((resolve) => sink.#server.listen(0, "127.0.0.1", resolve));
    return sink;
  }

  get url(): string {
    const address = this.#server.server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const { login } = this.#options;
    const who = login === undefined ? "" : `${login.user}:${encodeURIComponent(login.pass)}@`;
    return `smtp://${who}127.0.0.1:${port}`;
  }

  #create(): SMTPServer {
    const { login } = this.#options;
    return new SMTPServer({
      name: "sink.test",
      disabledCommands: login === undefined ? ["STARTTLS", "AUTH"] : ["STARTTLS"],
      authOptional: login === undefined,
      allowInsecureAuth: true,
      disableReverseLookup: true,
      closeTimeout: 10,
      onConnect: (_, done) => {
        this.connections++;
        this.#notify();
        if (this.behaviour !== "silent greeting") done();
      },
      onAuth: ({ username, password }, _, done) => {
        this.logins++;
        if (username === login?.user && password === login?.pass) {
          return done(null, { user: username });
        }
        done(new Error(`Wrong password ${password}`));
      },
      onMailFrom: ({ address }, _, done) =>
        done(address === SENDER ? null : new Error(`No mail from ${address}`)),
      onRcptTo: ({ address }, _, done) => {
        this.recipients++;
        this.#notify();
        if (this.behaviour === "silent recipient") return;
        const isRefused = this.behaviour === "refuse recipient" || address.startsWith("gone@");
        done(isRefused ? new Error("No such recipient") : null);
      },
      onData: async (stream, session, done) => {
        const raw = await readAll(stream);
        // The client disconnected in the middle: nothing was delivered.
        if (raw === null) return;
        const { mailFrom, rcptTo } = session.envelope;
        const parsed = await PostalMime.parse(raw);
        const { messageId = "", subject = "", text = "", html } = parsed;
        const refused = this.behaviour === "refuse text";
        if (!refused) {
          this.received.push({
            from: mailFrom === false ? "" : mailFrom.address,
            fromHeader: parsed.from?.address ?? "",
            to: rcptTo.map(({ address }) => address),
            messageId,
            subject,
            text,
            html,
            references: parsed.references ?? "",
            inReplyTo: parsed.inReplyTo ?? "",
          });
        }
        this.#notify();
        if (this.behaviour === "die after text") return this.#die();
        if (this.behaviour !== "silent text") done(refused ? new Error("Not today") : null);
      },
    });
  }

  /** Closes all connections without a word. */
  #die(): void {
    for (const { _socket: socket } of this.#server.connections) socket.destroy();
  }

  #notify(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when a condition is true. */
  async until(wanted: (sink: SmtpSink) => boolean): Promise<void> {
    while (!wanted(this)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Reads a complete stream; null if it breaks off. */
async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array | null> {
  try {
    return new Uint8Array(await new Response(ReadableStream.from(stream)).arrayBuffer());
  } catch {
    return null;
  }
}

/** Greets the first client byte by byte forever; returns the number of bytes it read. */
export async function drip(listener: Deno.Listener): Promise<number> {
  using connection = await listener.accept();
  let bytes = 0;
  try {
    for (;; bytes++) {
      await connection.write(new TextEncoder().encode(bytes === 0 ? "2" : "20-drip "[bytes % 8]));
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  } catch {
    return bytes;
  }
}
