/** List of all attacks. */
import type { Attack } from "./attacker.ts";
import { BODIES } from "./kinds/bodies.ts";
import { JOBS } from "./kinds/jobs.ts";
import { LARGE_RUNS } from "./kinds/large_runs.ts";
import { LISTS } from "./kinds/lists.ts";
import { PAGES } from "./kinds/pages.ts";
import { SOCKETS } from "./kinds/sockets.ts";
import { TRACES } from "./kinds/traces.ts";

export const ATTACKS: readonly Attack[] = [
  ...SOCKETS,
  ...BODIES,
  ...TRACES,
  ...LARGE_RUNS,
  ...LISTS,
  ...PAGES,
  ...JOBS,
];
