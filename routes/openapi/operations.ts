/** Every call that is described, in the order in which they are shown. */
import type { Operation } from "./describe.ts";
import { RUN_OPERATIONS } from "./runs.ts";
import { RUN_READS } from "./run_reads.ts";
import { SERVICE_OPERATIONS } from "./service.ts";

export const OPERATIONS: readonly Operation[] = [
  ...RUN_OPERATIONS,
  ...RUN_READS,
  ...SERVICE_OPERATIONS,
];
