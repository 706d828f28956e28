/** What the benchmark writes: progress on stderr, results on stdout. */

const encoder = new TextEncoder();

/** Tells what is going on. */
export function say(text: string): void {
  Deno.stderr.writeSync(encoder.encode(`${text}\n`));
}

/** Prints a result. */
export function print(text: string): void {
  let bytes = encoder.encode(`${text}\n`);
  // A pipe may take less than it is given.
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}
