/** Endpoints of silences, and their JSON. */
import type { Silence, SilencePut, SilenceSettings } from "../../../domain/alerts/silence.ts";
import { parseSilence, silenceBody } from "../../../domain/alerts/silence_body.ts";
import { instantValue, objectValue, textValue } from "../../openapi/wire.ts";
import { headFields, TAIL_FIELDS, textsValue } from "../config/fields.ts";
import { objectEndpoints } from "../config/objects.ts";

const match = objectValue<SilenceSettings["match"]>("SilenceMatch", {
  rules: textsValue("rules"),
  agents: textsValue("agents"),
  customers: textsValue("customers"),
});

/** A silence. */
export const silenceValue = objectValue<Silence>("Silence", {
  ...headFields("sil"),
  match: match(({ settings }) => settings.match),
  from: instantValue(({ settings }) => settings.fromMs, "Begin, inclusive."),
  until: instantValue(({ settings }) => settings.untilMs, "End, exclusive."),
  comment: textValue.orNull(({ settings }) => settings.comment),
  ...TAIL_FIELDS,
});

const SENT = {
  match: { rules: [], agents: ["nightly*"], customers: [] },
  from: "2026-11-21T22:00:00.000Z",
  until: "2026-11-22T06:00:00.000Z",
  comment: "Maintenance",
};

const SILENCE = {
  slug: "maintenance",
  id: "sil_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0006",
  version: 1,
  ...SENT,
  created_at: "2026-11-21T12:00:00.000Z",
  updated_at: "2026-11-21T12:00:00.000Z",
  updated_by: "key_eu_019aa6b2c4d07e1f8a9b0c1d2e3f0003",
};

/** Endpoints of `/v1/silences`. */
export const SILENCE_ENDPOINTS = objectEndpoints<SilenceSettings, SilencePut, Silence>({
  tag: "Alerts",
  kind: "silence",
  name: "Silence",
  storeOf: ({ silences }) => silences,
  parse: (body, { environment }) => parseSilence(body, environment.now()),
  rowsOf: (_deps, _team, silences) => Promise.resolve(silences),
  body: silenceBody.meta({ id: "SilenceRequest" }),
  value: silenceValue,
  texts: {
    put: "Holds back messages about the incidents that match. Incidents still open and resolve. " +
      "At the end of the silence, what is still open is sent once.",
    list: "Lists silences by slug, also those that have ended.",
    remove: "Deletes a silence. What it held back and is still open is sent.",
  },
  example: { slug: SILENCE.slug, sent: SENT, answer: SILENCE },
});
