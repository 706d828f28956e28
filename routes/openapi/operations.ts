/** Every call that is described, in the order in which they are shown. */
import { AGENT_OPERATIONS } from "./agents.ts";
import { AUDIT_OPERATIONS } from "./audit_log.ts";
import { DELETION_OPERATIONS } from "./deletions.ts";
import type { Operation } from "./describe.ts";
import { FEED_OPERATIONS } from "./feed.ts";
import { EXPORT_OPERATIONS } from "./exports.ts";
import { HEARTBEAT_OPERATIONS } from "./heartbeats.ts";
import { KEY_OPERATIONS } from "./keys.ts";
import { RATE_CARD_OPERATIONS } from "./rate_card.ts";
import { REFUSAL_OPERATIONS } from "./refusals.ts";
import { REPRICE_OPERATIONS } from "./reprice.ts";
import { RUN_LISTS } from "./run_list.ts";
import { RUN_READS } from "./run_reads.ts";
import { RUN_OPERATIONS } from "./runs.ts";
import { SERVICE_OPERATIONS } from "./service.ts";
import { SPEND_OPERATIONS } from "./spend.ts";
import { TEAM_OPERATIONS } from "./teams.ts";

/** All of them; within a resource by their place here. */
export const OPERATIONS: readonly Operation[] = [
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
