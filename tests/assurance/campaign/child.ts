/**
 * Attackers and probes as processes of their own: what is measured is then the service's time and not
 * that of a shared event loop. A child gets one line of JSON, says when it begins, works until its
 * input ends, and answers one line of JSON.
 */

const FLAGS = ["run", "--frozen", "-A"];

/** Milliseconds in which a child that is asked to end must have answered. */
const END_MS_MAX = 20_000;

const encoder = new TextEncoder();

/** A child at work. Always `await using`. */
export class Child<Result> implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #name: string;
  #ended = false;

  private constructor(name: string, process: Deno.ChildProcess) {
    this.#name = name;
    this.#process = process;
    this.#input = process.stdin.getWriter();
    this.#lines = process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(lines())
      .getReader();
    process.status.then(() => this.#ended = true);
  }

  /** Starts a script of this folder and waits until it begins. */
  static async start<Result>(script: string, order: unknown): Promise<Child<Result>> {
    const process = new Deno.Command(Deno.execPath(), {
      args: [...FLAGS, new URL(script, import.meta.url).pathname],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const child = new Child<Result>(script, process);
    await child.#input.write(encoder.encode(`${JSON.stringify(order)}\n`));
    await child.#line();
    return child;
  }

  /** Waits for a child that ends by itself. */
  async done(): Promise<Result> {
    return JSON.parse(await this.#line());
  }

  /** Ends its work; what it found. */
  async stop(): Promise<Result> {
    const late = setTimeout(() => this.#kill(), END_MS_MAX);
    try {
      await this.#input.close().catch(() => {});
      return await this.done();
    } finally {
      clearTimeout(late);
    }
  }

  async #line(): Promise<string> {
    const { value } = await this.#lines.read();
    if (value === undefined) throw new Error(`${this.#name} ended without an answer`);
    return value;
  }

  #kill(): void {
    if (!this.#ended) this.#process.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#input.close().catch(() => {});
    await this.#lines.cancel().catch(() => {});
    await this.#process.status;
  }
}

/** Cuts text at line ends. */
function lines(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(part, controller) {
      const found = (rest + part).split("\n");
      rest = found.pop() ?? "";
      for (const line of found) controller.enqueue(line);
    },
  });
}

/** Runs the work of a child: reads its order, says that it begins, and answers. */
export async function workAsChild<Order>(
  work: (order: Order, begin: () => void, signal: AbortSignal) => Promise<unknown>,
): Promise<never> {
  const input = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(lines())
    .getReader();
  const { value = "null" } = await input.read();
  const ending = new AbortController();
  // The end of the input is the request to stop, also when the parent process is gone.
  input.read().finally(() => ending.abort());
  const result = await work(JSON.parse(value), () => print("begun"), ending.signal);
  print(JSON.stringify(result ?? null));
  Deno.exit(0);
}

function print(line: string): void {
  let bytes = encoder.encode(`${line}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}
