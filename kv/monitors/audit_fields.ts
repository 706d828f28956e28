/**
 * Fields of monitors in the audit log, under the names that responses use.
 *
 * @module
 */
import { formatInstantOrNull } from "../../domain/core/time.ts";
import type { MonitorPause, MonitorSettings } from "../../domain/monitors/monitor.ts";
import type { AuditValue } from "../../domain/teams/audit_log.ts";

export function settingsFields(settings: MonitorSettings): { readonly [name: string]: AuditValue } {
  const { schedule } = settings;
  return {
    schedule: "cron" in schedule
      ? { cron: schedule.cron, tz: schedule.tz }
      : { every_seconds: schedule.everySeconds },
    grace_seconds: settings.graceSeconds,
    max_runtime_seconds: settings.maxRuntimeSeconds,
    failure_threshold: settings.failureThreshold,
    recovery_threshold: settings.recoveryThreshold,
    enabled: settings.enabled,
  };
}

export function pauseFields(pause: MonitorPause | null): AuditValue {
  if (pause === null) return null;
  const { untilMs, isSticky } = pause;
  return { until: formatInstantOrNull(untilMs), sticky: isSticky };
}
