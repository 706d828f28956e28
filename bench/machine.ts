/** The machine and the moment of a run: absolute numbers mean nothing without them. */

/** Describes them in one line. */
export async function describeMachine(folder: string): Promise<string> {
  const read = (path: string) => Deno.readTextFile(path).catch(() => "");
  const model = /^model name\s*:\s*(.+)$/m.exec(await read("/proc/cpuinfo"))?.[1];
  const fileSystem = fileSystemOf(folder, await read("/proc/mounts"));
  return [
    `${navigator.hardwareConcurrency} cores`,
    model ?? Deno.build.arch,
    ...(fileSystem === null ? [] : [`files on ${fileSystem}`]),
    `Deno ${Deno.version.deno}`,
    new Date().toISOString().slice(0, 10),
    `load at start ${Deno.loadavg()[0]?.toFixed(1)}`,
  ].join(", ");
}

/** The kind of file system a folder is on, by the list of mounts; null when it does not say. */
export function fileSystemOf(folder: string, mounts: string): string | null {
  let best = { point: "", kind: "" };
  for (const line of mounts.split("\n")) {
    const [, point = "", kind = ""] = line.split(" ");
    const holds = point !== "" && `${folder}/`.startsWith(point === "/" ? "/" : `${point}/`);
    if (holds && point.length >= best.point.length) best = { point, kind };
  }
  return best.kind || null;
}
