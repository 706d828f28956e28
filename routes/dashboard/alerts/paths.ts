/** Paths of the pages of alerts. */
import { ALERTS_PATH, objectsPath, pathsBelow } from "../layout/paths.ts";

export const HISTORY_PATH = `${ALERTS_PATH}/history`;
export const RULES_PATH = objectsPath("rule");
export const CHANNELS_PATH = objectsPath("channel");
export const DELIVERIES_PATH = `${ALERTS_PATH}/deliveries`;
export const SILENCES_PATH = objectsPath("silence");

/** Path of an incident, or of one of its forms. */
export const incidentPath = pathsBelow<"/silence">(`${ALERTS_PATH}/incidents`);

/** Path of a rule, or of one of its forms. */
export const rulePath = pathsBelow<"/enabled" | "/delete">(RULES_PATH);

/** Path of a channel, or of one of its forms. */
export const channelPath = pathsBelow<"/test" | "/rotate" | "/delete">(CHANNELS_PATH);

/** Path of a form of a delivery. */
export const deliveryPath = pathsBelow<"/resend">(DELIVERIES_PATH);
