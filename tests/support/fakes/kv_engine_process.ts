/** The engine of a shared KV in a process of its own, so that no test process loads its addon. */
import { type Frame, FrameSender, readFrames } from "./kv_frames.ts";

/** Opens databases. */
export interface KvEngine extends AsyncDisposable {
  /** Opens the database of a file, or a new one in memory if the path is `:memory:`. */
  open(path: string): Promise<KvDatabase>;
}

/** An open database; requests and answers are messages of KV Connect. */
export interface KvDatabase {
  snapshotRead(request: Uint8Array): Promise<Uint8Array>;
  atomicWrite(request: Uint8Array): Promise<Uint8Array>;
}

const ROOT = new URL("../../../", import.meta.url).pathname;
const PROGRAM = new URL("kv_engine.ts", import.meta.url).pathname;
const LOCK = "--lock=tests/packages/development.lock";

/** A running engine. It ends with this process too: that ends their connection. */
export class EngineProcess implements KvEngine {
  readonly #child: Deno.ChildProcess;
  readonly #connection: Deno.TcpConn;
  readonly #sender: FrameSender;
  readonly #pending = new Map<number, PromiseWithResolvers<Frame>>();
  readonly #received: Promise<void>;
  #calls = 0;
  #hasEnded = false;

  private constructor(child: Deno.ChildProcess, connection: Deno.TcpConn) {
    this.#child = child;
    this.#connection = connection;
    this.#sender = new FrameSender(connection);
    this.#received = this.#receive();
  }

  /** Starts an engine; resolves when it is connected. */
  static async start(): Promise<EngineProcess> {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--frozen", LOCK, "--no-prompt", "-A", PROGRAM, String(listener.addr.port)],
      cwd: ROOT,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const failed = child.status.then(() => Promise.reject(ended()));
    const connection = await Promise.race([listener.accept(), failed]);
    connection.setNoDelay();
    return new EngineProcess(child, connection);
  }

  async open(path: string): Promise<KvDatabase> {
    const { db = 0 } = await this.#call({ kind: "open", body: new TextEncoder().encode(path) });
    const bytes = async (call: Omit<Frame, "call" | "db">) =>
      (await this.#call({ ...call, db })).body ?? new Uint8Array();
    return {
      snapshotRead: (body) => bytes({ kind: "snapshotRead", body }),
      atomicWrite: (body) => bytes({ kind: "atomicWrite", body }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sender.sent;
    // Then the engine ends, which ends what is received.
    await this.#connection.closeWrite().catch(() => {});
    await this.#received;
    this.#connection.close();
    await this.#child.status;
  }

  async #call(frame: Omit<Frame, "call">): Promise<Frame> {
    const call = ++this.#calls;
    const answer = this.#answerOf(call);
    this.#sender.send({ ...frame, call });
    const received = await answer;
    if (received.kind === "failed") throw new Error(new TextDecoder().decode(received.body));
    return received;
  }

  #answerOf(call: number): Promise<Frame> {
    const answer = Promise.withResolvers<Frame>();
    if (this.#hasEnded) answer.reject(ended());
    else this.#pending.set(call, answer);
    return answer.promise;
  }

  async #receive(): Promise<void> {
    for await (const frame of readFrames(this.#connection)) {
      this.#pending.get(frame.call)?.resolve(frame);
      this.#pending.delete(frame.call);
    }
    this.#hasEnded = true;
    for (const { reject } of this.#pending.values()) reject(ended());
  }
}

function ended(): Error {
  return new Error("The KV engine has ended.");
}
