/** Incidents and deliveries as stored. */
import type { Incident } from "../../../domain/alerts/incident.ts";
import type { IncidentFacts } from "../../../domain/channels/message.ts";
import { NOON } from "../harness/harness.ts";

/** Returns an identifier such as `inc_eu_000…1`. */
export function idOfNumber(prefix: string, number: number): string {
  return `${prefix}_eu_${number.toString(16).padStart(32, "0")}`;
}

/** An open incident of three failed runs, as a message has it. */
export function incidentFacts(changes: Partial<IncidentFacts> = {}): IncidentFacts {
  return {
    id: idOfNumber("inc", 1),
    rule: "failures",
    kind: "run_failed",
    severity: "critical",
    state: "open",
    group: { agent: "nightly" },
    openedAt: NOON,
    resolvedAt: null,
    resolvedBy: null,
    count: 3,
    value: 3,
    threshold: 3,
    title: "nightly failed 3 times in a row",
    error: null,
    runs: [],
    isSilenced: false,
    acknowledged: null,
    ...changes,
  };
}

/** The same incident as stored. */
export function anIncident(changes: Partial<Incident> = {}): Incident {
  return {
    ...incidentFacts(),
    ruleVersion: 0,
    groupText: "=nightly",
    timeline: [{ at: NOON, what: "opened", count: 3 }],
    deliveries: {},
    notifiedAt: null,
    notifiedCount: 0,
    isHeldBack: false,
    ...changes,
  };
}
