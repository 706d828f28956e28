/**
 * The engine of `denokv` as a program: it connects to a port and answers calls until the other side
 * ends the connection.
 *
 * Only a program may import this file. The engine is a native addon, and Deno crashes a
 * parallel test run when a promise of an addon settles after its test file has ended.
 */
import { openKv } from "@deno/kv";
import { type Frame, FrameSender, readFrames } from "./kv_frames.ts";
import type { KvDatabase, KvEngine } from "./kv_engine_process.ts";

/** An open database; the package keeps the addon in fields of its handle. */
interface Handle {
  readonly napi: {
    snapshotRead(db: number, request: Uint8Array, debug: boolean): Promise<Uint8Array>;
    atomicWrite(db: number, request: Uint8Array, debug: boolean): Promise<Uint8Array>;
  };
  readonly dbId: number;
  close(): void;
}

/** The engine in this process. */
export class LocalEngine implements KvEngine {
  readonly #handles: Handle[] = [];

  async open(path: string): Promise<KvDatabase> {
    const handle = await openKv(path, { implementation: "sqlite" }) as unknown as Handle;
    this.#handles.push(handle);
    const { napi, dbId } = handle;
    return {
      snapshotRead: (request) => napi.snapshotRead(dbId, request, false),
      atomicWrite: (request) => napi.atomicWrite(dbId, request, false),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const handle of this.#handles) handle.close();
    return Promise.resolve();
  }
}

/** Answers the calls of one client. */
class Answers {
  readonly #databases: KvDatabase[] = [];

  constructor(readonly engine: KvEngine) {}

  /** Returns the answer of a call. */
  async of(frame: Frame): Promise<Frame> {
    try {
      return { kind: "done", call: frame.call, ...await this.#call(frame) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { kind: "failed", call: frame.call, body: new TextEncoder().encode(message) };
    }
  }

  async #call({ kind, db = 0, body = new Uint8Array() }: Frame): Promise<Partial<Frame>> {
    if (kind === "open") {
      const database = await this.engine.open(new TextDecoder().decode(body));
      return { db: this.#databases.push(database) - 1 };
    }
    const database = this.#databases[db];
    if (database === undefined) throw new Error("The database is not open.");
    switch (kind) {
      case "snapshotRead":
      case "atomicWrite":
        return { body: await database[kind](body) };
      default:
        throw new Error(`${kind} is not a call.`);
    }
  }
}

if (import.meta.main) {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(Deno.args[0]) });
  connection.setNoDelay();
  const sender = new FrameSender(connection);
  const engine = new LocalEngine();
  const answers = new Answers(engine);
  for await (const frame of readFrames(connection)) {
    answers.of(frame).then((answer) => sender.send(answer));
  }
  await engine[Symbol.asyncDispose]();
}
