/** Every call that is described, in the order in which they are shown. */
import { AGENT_OPERATIONS } from "./agents/describe.ts";
import { AUDIT_OPERATIONS } from "./audit_log/describe.ts";
import { DELETION_OPERATIONS } from "./deletions/describe.ts";
import type { OperationDescription } from "../openapi/describe.ts";
import { FEED_OPERATIONS } from "./feed/describe.ts";
import { EXPORT_OPERATIONS } from "./exports/describe.ts";
import { HEARTBEAT_OPERATIONS } from "./heartbeats/describe.ts";
import { KEY_OPERATIONS } from "./keys/describe.ts";
import { RATE_CARD_OPERATIONS } from "./rate_card/describe.ts";
import { REFUSAL_OPERATIONS } from "./refusals/describe.ts";
import { REPRICE_OPERATIONS } from "./repricing/describe.ts";
import { RUN_LISTS } from "./runs/describe_list.ts";
import { RUN_READS } from "./runs/describe_reads.ts";
import { RUN_OPERATIONS } from "./runs/describe.ts";
import { SERVICE_OPERATIONS } from "./service/describe.ts";
import { SPEND_OPERATIONS } from "./spend/describe.ts";
import { TEAM_OPERATIONS } from "./teams/describe.ts";

/** All of them; within a resource by their place here. */
export const OPERATIONS: readonly OperationDescription[] = [
  ...RUN_OPERATIONS,
  ...RUN_LISTS,
  ...EXPORT_OPERATIONS,
  ...RUN_READS,
  ...FEED_OPERATIONS,
  ...HEARTBEAT_OPERATIONS,
  ...REFUSAL_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...SPEND_OPERATIONS,
  ...RATE_CARD_OPERATIONS,
  ...REPRICE_OPERATIONS,
  ...DELETION_OPERATIONS,
  ...KEY_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...TEAM_OPERATIONS,
  ...SERVICE_OPERATIONS,
];
