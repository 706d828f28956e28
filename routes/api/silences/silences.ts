/** Endpoints of silences. */
import { type Silence, SILENCES } from "../../../domain/alerts/silence.ts";
import * as shape from "../../openapi/wire.ts";
import { objectEndpoints, settingsFields } from "../objects.ts";

/** Endpoints of `/v1/silences`. */
export const SILENCE_ENDPOINTS = objectEndpoints({
  of: SILENCES,
  tag: "Alerts",
  fields: {
    ...settingsFields(SILENCES),
    from: shape.instant<Silence>(({ settings }) => settings.fromMs, "Begin, inclusive."),
  },
  texts: {
    put: "Holds back messages about the incidents that match. Incidents still open and resolve. " +
      "At the end of the silence, what is still open is sent once.",
    list: "Lists silences by slug, also those that have ended.",
    remove: "Deletes a silence. What it held back and is still open is sent.",
  },
});
