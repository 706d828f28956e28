/**
 * Runs attackers and probes as separate processes, so that measurements do not include waits in a
 * shared event loop. A child reads one line of JSON, reports that it has started, works until its
 * input ends, and writes one line of JSON.
 */

const FLAGS = ["run", "--frozen", "-A"];

/** Maximum milliseconds from the end of a child's input to its result. */
const END_MS_MAX = 20_000;

const encoder = new TextEncoder();

/** A running child process. Always `await using`. */
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

  /** Starts a script of this folder and waits until it reports that it has started. */
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

  /** Waits for the result of a child that ends without `stop`. */
  async done(): Promise<Result> {
    return JSON.parse(await this.#line());
  }

  /** Ends the child's work and returns its result. */
  async stop(): Promise<Result> {
    const timer = setTimeout(() => this.#kill(), END_MS_MAX);
    try {
      await this.#input.close().catch(() => {});
      return await this.done();
    } finally {
      clearTimeout(timer);
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

/** Splits text into lines. */
function lines(): TransformStream<string, string> {
  let remainder = "";
  return new TransformStream({
    transform(part, controller) {
      const complete = (remainder + part).split("\n");
      remainder = complete.pop() ?? "";
      for (const line of complete) controller.enqueue(line);
    },
  });
}

/** Runs the work of a child: reads its order, reports the start, and writes the result. */
export async function workAsChild<Order>(
  work: (order: Order, begin: () => void, signal: AbortSignal) => Promise<unknown>,
): Promise<never> {
  const input = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).pipeThrough(lines())
    .getReader();
  const { value = "null" } = await input.read();
  const ending = new AbortController();
  // The end of the input means stop; it also ends when the parent process dies.
  input.read().finally(() => ending.abort());
  const result = await work(JSON.parse(value), () => print("started"), ending.signal);
  print(JSON.stringify(result ?? null));
  Deno.exit(0);
}

function print(line: string): void {
  let bytes = encoder.encode(`${line}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}
