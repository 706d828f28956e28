/**
 * Fields of channels in the audit log, under the names that responses use. A secret shows its hint.
 *
 * @module
 */
import { formatInstantOrNull } from "../core/time.ts";
import type { AuditValue } from "../teams/audit_log.ts";
import type { ChannelSettings } from "./channel.ts";

/** Returns a channel's settings without its secrets. */
export function channelFields(settings: ChannelSettings): { readonly [name: string]: AuditValue } {
  return {
    type: settings.type,
    ...ownFields(settings),
    default: settings.isDefault,
    include_error: settings.includeError,
    enabled: settings.enabled,
  };
}

function ownFields(settings: ChannelSettings): { readonly [name: string]: AuditValue } {
  switch (settings.type) {
    case "email":
      return { to: settings.to };
    case "pagerduty":
      return { hint: { routing_key: settings.routingKey.hint }, region: settings.region };
    case "webhook": {
      const { url, host, secret, previous, events, headers } = settings;
      return {
        hint: { url: url.hint, secret: secret.hint },
        host,
        previous_until: formatInstantOrNull(previous?.untilMs),
        events,
        headers: { ...headers },
      };
    }
    default:
      return { hint: { url: settings.url.hint }, host: settings.host };
  }
}
