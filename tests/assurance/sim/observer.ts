/** Watches sequences of commands from outside. */
import type { World, WorldOptions } from "./world.ts";

/** Watches a sequence of commands that meets no faults, with all work done after each of them. */
export interface Observer {
  readonly world: Omit<WorldOptions, "tier">;
  /** Called after the last command. */
  readonly atEnd: (world: World) => Promise<unknown>;
}
