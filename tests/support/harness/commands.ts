/** Returns whether a command is installed: a name on the search path, or a path. */
export function isInstalled(command: string): boolean {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  const paths = command.includes("/") ? [command] : folders.map((each) => `${each}/${command}`);
  return paths.some((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}
