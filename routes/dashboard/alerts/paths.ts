/** Paths of the pages of alerts. */
import { ALERTS_PATH } from "../layout/paths.ts";

export const HISTORY_PATH = `${ALERTS_PATH}/history`;
export const RULES_PATH = `${ALERTS_PATH}/rules`;
export const CHANNELS_PATH = `${ALERTS_PATH}/channels`;
export const DELIVERIES_PATH = `${ALERTS_PATH}/deliveries`;
export const SILENCES_PATH = `${ALERTS_PATH}/silences`;

/** Forms for new objects. They are not below their lists, where each name is one of an object. */
export const NEW_RULE_PATH = `${ALERTS_PATH}/new-rule`;
export const NEW_CHANNEL_PATH = `${ALERTS_PATH}/new-channel`;
export const NEW_SILENCE_PATH = `${ALERTS_PATH}/new-silence`;

/** Path of an incident, or of one of its forms. */
export function incidentPath(id: string, action: "" | "/silence" = "") {
  return `${ALERTS_PATH}/incidents/${encodeURIComponent(id)}${action}`;
}

/** Path of a rule, or of one of its forms. */
export function rulePath(slug: string, action: "" | "/enabled" | "/delete" = "") {
  return `${RULES_PATH}/${encodeURIComponent(slug)}${action}`;
}

/** Path of a channel, or of one of its forms. */
export function channelPath(slug: string, action: "" | "/test" | "/rotate" | "/delete" = "") {
  return `${CHANNELS_PATH}/${encodeURIComponent(slug)}${action}`;
}

/** Path of a form of a silence. */
export function silencePath(slug: string, action: "/end" | "/delete"): string {
  return `${SILENCES_PATH}/${encodeURIComponent(slug)}${action}`;
}

/** Path of the form that sends a delivery again. */
export function resendPath(id: string): string {
  return `${DELIVERIES_PATH}/${encodeURIComponent(id)}/resend`;
}
