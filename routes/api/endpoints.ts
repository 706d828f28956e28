/** All endpoints of the API, in the order of the document. */
import { AGENT_ENDPOINTS } from "./agents/agents.ts";
import { AUDIT_ENDPOINTS } from "./audit_log/audit_log.ts";
import { CHANNEL_ENDPOINTS } from "./channels/channels.ts";
import { CHECK_ENDPOINTS } from "./checks/checks.ts";
import { DELIVERY_ENDPOINTS } from "./deliveries/deliveries.ts";
import { DELETION_ENDPOINTS } from "./deletions/deletions.ts";
import type { Endpoint } from "../openapi/describe.ts";
import { FEED_ENDPOINTS } from "./feed/live.ts";
import { EXPORT_ENDPOINTS } from "./exports/exports.ts";
import { GUARD_OBJECTS } from "./budgets/budgets.ts";
import { GUARD_ENDPOINTS } from "./guard/guard.ts";
import { HEARTBEAT_ENDPOINTS } from "./heartbeats/heartbeats.ts";
import { INCIDENT_ENDPOINTS } from "./incidents/incidents.ts";
import { JUDGE_ENDPOINTS } from "./judges/judges.ts";
import { KEY_ENDPOINTS } from "./keys/keys.ts";
import { RATE_CARD_ENDPOINTS } from "./rate_card/endpoints.ts";
import { MONITOR_ENDPOINTS } from "./monitors/monitors.ts";
import { REFUSAL_ENDPOINTS } from "./refusals/refusals.ts";
import { REPRICE_ENDPOINTS } from "./repricing/reprice.ts";
import { RULE_ENDPOINTS } from "./rules/rules.ts";
import { RUN_LISTS } from "./runs/run_list.ts";
import { RUN_READS } from "./runs/reads.ts";
import { RUN_ENDPOINTS } from "./runs/writes.ts";
import { SERVICE_ENDPOINTS } from "./service/service.ts";
import { SILENCE_ENDPOINTS } from "./silences/silences.ts";
import { SPEND_ENDPOINTS } from "./spend/spend.ts";
import { TEAM_ENDPOINTS } from "./teams/teams.ts";

export const ENDPOINTS: readonly Endpoint[] = [
  ...RUN_ENDPOINTS,
  ...RUN_LISTS,
  ...EXPORT_ENDPOINTS,
  ...RUN_READS,
  ...FEED_ENDPOINTS,
  ...HEARTBEAT_ENDPOINTS,
  ...REFUSAL_ENDPOINTS,
  ...AGENT_ENDPOINTS,
  ...MONITOR_ENDPOINTS,
  ...CHECK_ENDPOINTS,
  ...JUDGE_ENDPOINTS,
  ...RULE_ENDPOINTS,
  ...SILENCE_ENDPOINTS,
  ...CHANNEL_ENDPOINTS,
  ...INCIDENT_ENDPOINTS,
  ...DELIVERY_ENDPOINTS,
  ...GUARD_OBJECTS,
  ...GUARD_ENDPOINTS,
  ...SPEND_ENDPOINTS,
  ...RATE_CARD_ENDPOINTS,
  ...REPRICE_ENDPOINTS,
  ...DELETION_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...AUDIT_ENDPOINTS,
  ...TEAM_ENDPOINTS,
  ...SERVICE_ENDPOINTS,
];
