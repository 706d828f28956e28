/** `/dashboard/alerts`: the open incidents, the worst and newest first, and one of them. */
import type { Incident } from "../../../domain/alerts/incident.ts";
import { existing } from "../../../domain/core/errors.ts";
import { teamKey } from "../../http/access.ts";
import { idInPath } from "../../http/query.ts";
import { NO_SUCH_INCIDENT } from "../../api/incidents/incidents.ts";
import { type DashboardPage, get, type PageHandler, post } from "../layout/page.tsx";
import { ALERTS_PATH, queryText } from "../layout/paths.ts";
import { At, Empty, Feed } from "../components/elements.tsx";
import { countedText, formatCount } from "../components/format.ts";
import { newPathOf } from "../objects/form.tsx";
import { enableRoute, objectRoutes } from "../objects/pages.tsx";
import { CHANNEL_PAGES } from "./channel_form.tsx";
import { backToChannel, showChannel, submitRotation, submitTest } from "./channel.tsx";
import { showChannels } from "./channels.tsx";
import { type AlertSetup, openCounts, readSetup, sumOf, withTabs } from "./frame.tsx";
import { showDeliveries, showHistory, submitResend } from "./lists.tsx";
import { incidentEntry } from "./entries.tsx";
import { IncidentPanels } from "./incident.tsx";
import { submitChange, submitIncidentSilence } from "./incident_changes.ts";
import { readIncidentDetails, readOpenList } from "./alerts_load.ts";
import { RULE_PAGES, showRule, showRules } from "./rules.tsx";
import { showSilences, SILENCE_PAGES, submitSilenceEnd } from "./silences.tsx";
import * as paths from "./paths.ts";

/** Shows the open incidents and one of them: the one in the path, else the first. */
const showOpen: PageHandler = async (visit) => {
  const { c, deps, team } = visit;
  const id = c.req.param("id");
  const counts = openCounts(c);
  const [setup, incidents] = await Promise.all([readSetup(visit), readOpenList(visit, counts)]);
  const named = idInPath(c, "inc");
  const read = named === null ? null : await deps.incidents.read(team, named);
  const incident = id === undefined ? incidents[0] ?? null : existing(read, NO_SUCH_INCIDENT);
  const open = sumOf(counts);
  return withTabs(setup, "open", {
    title: id === undefined || incident === null ? "Alerts" : incident.title,
    heading: "Alerts",
    subtitle: `${open || "None"} open` +
      (setup.failing === 0 ? "" : `, ${countedText(setup.failing, "channel")} failing`),
    body: incident === null
      ? noIncidents(setup)
      : (
        <div class={id === undefined ? "split at-list" : "split at-entry"}>
          {openList(incidents, open, incident)}
          <IncidentPanels
            incident={incident}
            details={await readIncidentDetails(visit, incident)}
            setup={setup}
          />
        </div>
      ),
  });
};

/** Lists the worst and newest of the open incidents; the selected one is marked. */
function openList(incidents: readonly Incident[], open: number, selected: Incident) {
  const more = open - incidents.length;
  return (
    <section class="panel inbox" aria-label="Open incidents">
      <Feed
        entries={incidents.map((of) =>
          incidentEntry(of, <At at={of.openedAt} />, of.id === selected.id)
        )}
        empty="No incident is open."
      />
      <p class="foot">
        {more > 0 && [
          <a href={paths.HISTORY_PATH + queryText([["state", "unresolved"]])}>
            And {formatCount(more)} more
          </a>,
          " · ",
        ]}
        <a href={paths.HISTORY_PATH}>Resolved incidents</a>
      </p>
    </section>
  );
}

/** Says what would open an incident, and where its messages would go. */
function noIncidents({ rules, channels, isAdmin }: AlertSetup) {
  const [enabled, working] = [rules, channels].map((objects) =>
    objects.filter(({ settings }) => settings.enabled).length
  );
  const link = working
    ? <a href={paths.CHANNELS_PATH}>{working} of your channels</a>
    : (
      <a href={isAdmin ? newPathOf(CHANNEL_PAGES) : paths.CHANNELS_PATH}>
        {isAdmin ? "Add a channel" : "Channels"}
      </a>
    );
  return (
    <Empty title="No incident is open">
      <p>
        An incident opens when 3 runs of an agent fail in a row, when an agent is down, or when
        another of the <a href={paths.RULES_PATH}>{enabled} rules</a>{" "}
        applies. It lists its runs until it is resolved.
      </p>
      {working ? <p>Messages go to {link}.</p> : (
        <p>
          Without a channel incidents are only shown here. {link}{" "}
          to send them to Slack, PagerDuty, a mailbox or a webhook.
        </p>
      )}
      <p>
        <a href={paths.HISTORY_PATH}>Resolved incidents</a>
      </p>
    </Empty>
  );
}

const admin = teamKey("admin");

/** Incidents, their rules, and the channels that their messages go to. */
export const alertsPage: DashboardPage = {
  path: ALERTS_PATH,
  menu: { name: "Alerts", area: "main" },
  access: teamKey("read"),
  handler: showOpen,
  routes: [
    get(`${ALERTS_PATH}/incidents/:id`, showOpen),
    post(`${ALERTS_PATH}/incidents/:id`, submitChange, admin),
    post(`${ALERTS_PATH}/incidents/:id/silence`, submitIncidentSilence, admin),
    get(paths.HISTORY_PATH, showHistory),
    get(paths.RULES_PATH, showRules),
    ...objectRoutes(RULE_PAGES, showRule),
    enableRoute(RULE_PAGES),
    get(paths.CHANNELS_PATH, showChannels),
    ...objectRoutes(CHANNEL_PAGES, showChannel),
    post(`${paths.CHANNELS_PATH}/:slug/test`, submitTest, admin),
    get(`${paths.CHANNELS_PATH}/:slug/rotate`, backToChannel),
    post(`${paths.CHANNELS_PATH}/:slug/rotate`, submitRotation, admin),
    get(paths.DELIVERIES_PATH, showDeliveries),
    post(`${paths.DELIVERIES_PATH}/:id/resend`, submitResend, admin),
    get(paths.SILENCES_PATH, showSilences),
    ...objectRoutes(SILENCE_PAGES),
    post(`${paths.SILENCES_PATH}/:slug/end`, submitSilenceEnd, admin),
  ],
};
