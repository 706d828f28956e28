/** List of all attacks. */
import type { Attack } from "./attack.ts";
import { bodies } from "./kinds/bodies.ts";
import { feed } from "./kinds/feed.ts";
import { jobs } from "./kinds/jobs.ts";
import { largeBodies } from "./kinds/large_bodies.ts";
import { largeRuns } from "./kinds/large_runs.ts";
import { lists } from "./kinds/lists.ts";
import { pages } from "./kinds/pages.ts";
import { sockets } from "./kinds/sockets.ts";
import { spanAttacks } from "./kinds/spans.ts";
import { spend } from "./kinds/spend.ts";
import { traces } from "./kinds/traces.ts";

/** All attacks, in execution order. */
export const ATTACKS: readonly Attack[] = [
  ...sockets,
  ...bodies,
  ...largeBodies,
  ...largeRuns,
  ...lists,
  ...feed,
  ...pages,
  ...traces,
  ...spanAttacks,
  ...spend,
  ...jobs,
];
