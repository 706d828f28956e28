/** `deno task assure sim-shared`: the simulation over three instances on one store. */
import type { Io } from "../../../tools/command.ts";
import type { AssuranceOptions } from "../assurance.ts";
import { run as simulate, type Simulation } from "./main.ts";

/** Instances on a store that repeats commits, as a shared KV does. */
export const SHARED: Simulation = { name: "sim-shared", instances: 3 };

export function run(options: AssuranceOptions, io: Io): Promise<boolean> {
  return simulate(options, io, SHARED);
}
