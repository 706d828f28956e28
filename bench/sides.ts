/** Servers under load, each a process of its own. */
import { end, scriptArguments, spawn } from "./children.ts";

/** What a server keeps its runs in; `server.ts` says what each is. */
export type SideKind =
  | "ours"
  | "sweeping"
  | "workless"
  | "alone"
  | "queued"
  | "checked"
  | "nothing";

/** A running server. Always `await using`. */
export interface Side extends AsyncDisposable {
  readonly kind: SideKind;
  readonly url: string;
  readonly pid: number;
  /** What it has been warmed up with. */
  readonly warm: Set<string>;
}

/** How a server is started. */
export interface SideOptions {
  /** Teams with keys of their own. */
  readonly teams?: number;
  /** File that gets a line for each sync to disk; needs strace. */
  readonly traceTo?: string;
}

/** Starts a server over a file. */
export async function startSide(
  kind: SideKind,
  file: string,
  { teams = 1, traceTo }: SideOptions = {},
): Promise<Side> {
  const args = scriptArguments("./server.ts", kind, file, String(teams));
  const child = traceTo === undefined
    ? spawn(Deno.execPath(), args, "null")
    : spawn("strace", [...strace(traceTo), Deno.execPath(), ...args], "null");
  const output = new Output(child.stderr);
  const url = await output.firstUrl();
  if (url === null) {
    await end(child);
    throw new Error(`The server "${kind}" did not start:\n${output.text}`);
  }
  return {
    kind,
    url,
    pid: child.pid,
    warm: new Set(),
    async [Symbol.asyncDispose]() {
      await end(child);
      await output.done;
    },
  };
}

/**
 * With its filter in the kernel strace stops the server at syncs only. With `-D` the server stays a
 * direct child of this process, and ending it ends strace.
 */
function strace(file: string): string[] {
  const which = ["-e", "trace=fsync,fdatasync", "-e", "signal=none"];
  return ["-D", "-f", "--seccomp-bpf", "-qq", ...which, "-o", file];
}

/** Collects what a server says, so that its pipe never fills up. */
class Output {
  text = "";
  readonly done: Promise<void>;
  readonly #url = Promise.withResolvers<string | null>();

  constructor(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
    this.done = this.#collect(stream);
  }

  firstUrl(): Promise<string | null> {
    return this.#url.promise;
  }

  async #collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      this.text += part;
      const found = /^(http:\/\/\S+)\n/m.exec(this.text);
      if (found !== null) this.#url.resolve(found[1] ?? null);
    }
    this.#url.resolve(null);
  }
}
