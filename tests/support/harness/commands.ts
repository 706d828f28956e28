/** Returns whether a command is installed: a name on the search path, or a path. */
export function isInstalled(command: string): boolean {
  const folders = command.includes("/") ? [""] : (Deno.env.get("PATH") ?? "").split(":");
  return folders.some((folder) => {
    try {
      return Deno.statSync(`${folder}/${command}`).isFile;
    } catch {
      return false;
    }
  });
}
