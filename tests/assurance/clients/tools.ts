/** Runs generators and compilers. */

/** A tool that this machine does not have. */
export class MissingTool extends Error {}

/** Runs a command in a folder and returns its output; the error names the end of its messages. */
export async function tool(name: string, args: readonly string[], cwd: string): Promise<string> {
  const command = new Deno.Command(name, {
    args: [...args],
    cwd,
    env: { GOFLAGS: "-mod=mod", NO_COLOR: "1" },
    stdin: "null",
  });
  const { code, stdout, stderr } = await command.output().catch((error) => {
    if (error instanceof Deno.errors.NotFound) throw new MissingTool(`${name} is not installed`);
    throw error;
  });
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [
    string,
    string,
  ];
  if (code === 0) return out;
  throw new Error(`${name} ${args.join(" ")} ended with ${code}: ${(err + out).slice(-4_000)}`);
}
