/** The list of open incidents, and what is shown without any. */
import type { Incident } from "../../../domain/alerts/incident.ts";
import type { OpenIncidents } from "../../../domain/alerts/store.ts";
import { SEVERITIES } from "../../../domain/channels/message.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";
import { queryText } from "../layout/paths.ts";
import { Empty } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { At } from "../components/time.tsx";
import type { AlertSetup } from "./frame.tsx";
import { countText, IncidentMark } from "./labels.tsx";
import {
  CHANNELS_PATH,
  HISTORY_PATH,
  incidentPath,
  NEW_CHANNEL_PATH,
  RULES_PATH,
} from "./paths.ts";

/** Maximum incidents listed. */
const LISTED_MAX = 50;

/**
 * Reads the open incidents, the worst and newest first.
 *
 * @param open numbers of open incidents: what there is none of is not searched
 */
export async function readOpenList(
  { incidents }: Pick<AppDeps, "incidents">,
  team: Team,
  open: OpenIncidents,
  max = LISTED_MAX,
): Promise<readonly Incident[]> {
  const query = { state: "unresolved", rule: null, agent: null, after: null } as const;
  const found: Incident[] = [];
  for (const severity of SEVERITIES) {
    const limit = max - found.length;
    if (open[severity] === 0 || limit === 0) continue;
    const page = await incidents.list(team, {
      ...query,
      severity,
      limit,
      fromMs: 0,
      toMs: Infinity,
    });
    found.push(...page.incidents);
  }
  return found;
}

interface OpenListProps {
  /** The worst and newest. */
  readonly incidents: readonly Incident[];
  /** Number of all open incidents. */
  readonly open: number;
  /** Id of the incident that is shown. */
  readonly selected: string;
}

/** Lists the open incidents; the selected one is marked. */
export function OpenList({ incidents, open, selected }: OpenListProps) {
  const more = open - incidents.length;
  return (
    <section class="panel inbox-panel" aria-label="Open incidents">
      {incidents.length === 0 ? <p class="none">No incident is open.</p> : (
        <ul class="inbox">
          {incidents.map((incident) => (
            <InboxEntry incident={incident} isSelected={incident.id === selected} />
          ))}
        </ul>
      )}
      <p class="foot">
        {more > 0 && incidents.length > 0 && (
          <>
            <a href={HISTORY_PATH + queryText([["state", "unresolved"]])}>
              And {formatCount(more)} more
            </a>{" "}
            ·{" "}
          </>
        )}
        <a href={HISTORY_PATH}>Resolved incidents</a>
      </p>
    </section>
  );
}

function InboxEntry({ incident, isSelected }: {
  readonly incident: Incident;
  readonly isSelected: boolean;
}) {
  const { id, title, error, severity, state, openedAt, isSilenced } = incident;
  const notes = [
    severity,
    countText(incident),
    state === "open" ? null : state,
    isSilenced ? "silenced" : null,
  ];
  return (
    <li class={isSelected ? "at" : undefined}>
      <IncidentMark of={incident} />
      <div>
        <a class="row" href={incidentPath(id)} aria-current={isSelected ? "true" : undefined}>
          {title}
        </a>
        {error !== null && <p>{error}</p>}
        <small>{notes.filter((note) => note !== null).join(" · ")}</small>
      </div>
      <small>
        <At at={openedAt} />
      </small>
    </li>
  );
}

/** Says what would open an incident, and where its messages would go. */
export function NoIncidents(
  { setup: { rules, channels, isAdmin } }: { readonly setup: AlertSetup },
) {
  const enabled = rules.filter(({ settings }) => settings.enabled).length;
  const working = channels.filter(({ settings }) => settings.enabled).length;
  return (
    <Empty title="No incident is open">
      <p>
        An incident opens when 3 runs of an agent fail in a row, when an agent is down, or when
        another of the <a href={RULES_PATH}>{formatCount(enabled)} rules</a>{" "}
        applies. It lists its runs until it is resolved.
      </p>
      {working > 0
        ? (
          <p>
            Messages go to <a href={CHANNELS_PATH}>{formatCount(working)} of your channels</a>.
          </p>
        )
        : (
          <p>
            Without a channel incidents are only shown here. {isAdmin
              ? <a href={NEW_CHANNEL_PATH}>Add a channel</a>
              : <a href={CHANNELS_PATH}>Channels</a>}{" "}
            to send them to Slack, PagerDuty, a mailbox or a webhook.
          </p>
        )}
      <p>
        <a href={HISTORY_PATH}>Resolved incidents</a>
      </p>
    </Empty>
  );
}
