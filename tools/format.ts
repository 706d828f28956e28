/** Formats generated files. */

/** Formats a text as `deno fmt` formats files with this extension. */
export async function formatted(text: string, extension: "json" | "md"): Promise<string> {
  const formatter = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", `--ext=${extension}`, "-"],
    cwd: new URL("..", import.meta.url),
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const [output] = await Promise.all([
    formatter.output(),
    ReadableStream.from([new TextEncoder().encode(text)]).pipeTo(formatter.stdin),
  ]);
  if (!output.success) throw new Error("deno fmt cannot format the text");
  return new TextDecoder().decode(output.stdout);
}
