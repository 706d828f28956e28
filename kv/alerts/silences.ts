/**
 * Stores silences.
 *
 * @module
 */
import { silenceFields } from "../../domain/alerts/silence_body.ts";
import type { SilencePut, SilenceSettings } from "../../domain/alerts/silence.ts";
import type { SilenceStore } from "../../domain/alerts/store.ts";
import { workKey, workSet } from "../work/store.ts";
import { createConfigStore } from "../config/store.ts";
import type { ObjectDeps } from "../team/rows.ts";

/**
 * Creates the store of silences. The loop sends what a silence held back: at its end, and at once
 * when it is changed or deleted, because it may mute less then.
 */
export function createSilenceStore(deps: ObjectDeps): SilenceStore {
  return createConfigStore<SilenceSettings, SilencePut>(deps, {
    kind: "silence",
    idPrefix: "sil",
    defaults: [],
    settle: ({ sent, before, atMs }) => {
      const fromMs = sent.fromMs ?? before?.settings.fromMs ?? atMs;
      return Promise.resolve({ ok: true, value: { ...sent, fromMs } });
    },
    auditFields: silenceFields,
    followUp: ({ team, slug: name, before, after, atMs }) => {
      const due = { kind: "silence", team, name } as const;
      const [old, end] = [before?.settings.untilMs, after?.settings.untilMs];
      const times = [...before === null ? [] : [atMs], ...end === undefined ? [] : [end]];
      return {
        sets: [...new Set(times)].map((at) => workSet({ ...due, at })),
        deletes: old === undefined || times.includes(old) ? [] : [workKey({ ...due, at: old })],
      };
    },
  });
}
