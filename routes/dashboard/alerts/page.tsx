/** `/dashboard/alerts`: the open incidents, the worst and newest first, and one of them. */
import { isIncidentId } from "../../../domain/alerts/incident.ts";
import { teamKey } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { NO_SUCH_INCIDENT } from "../../api/incidents/incidents.ts";
import { type DashboardPage, get, post } from "../layout/page.ts";
import { ALERTS_PATH } from "../layout/paths.ts";
import { countedText } from "../components/format.ts";
import { showChannels, showNewChannel, submitNewChannel } from "./channels.tsx";
import { showChannel } from "./channel.tsx";
import {
  backToChannel,
  submitChannel,
  submitChannelDeletion,
  submitRotation,
  submitTest,
} from "./channel_changes.tsx";
import { showDeliveries, submitResend } from "./deliveries.tsx";
import {
  type AlertSetup,
  failingCount,
  openCounts,
  readSetup,
  showAlerts,
  sumOf,
} from "./frame.tsx";
import { showHistory } from "./history.tsx";
import { IncidentDetails, readIncidentDetails } from "./incident.tsx";
import { submitChange, submitIncidentSilence } from "./incident_changes.ts";
import { NoIncidents, OpenList, readOpenList } from "./open_list.tsx";
import { showNewRule, showRule, showRules } from "./rules.tsx";
import { submitRule, submitRuleDeletion, submitRuleEnabled } from "./rule_changes.tsx";
import { showNewSilence, showSilences, submitSilence, submitSilenceEnd } from "./silences.tsx";
import {
  CHANNELS_PATH,
  DELIVERIES_PATH,
  HISTORY_PATH,
  NEW_CHANNEL_PATH,
  NEW_RULE_PATH,
  NEW_SILENCE_PATH,
  RULES_PATH,
  SILENCES_PATH,
} from "./paths.ts";

/** Shows the open incidents, and the first of them. */
const showOpen: Handler = (c, deps) => show(c, deps, null);

/** Shows one incident next to the open ones. */
const showIncident: Handler = (c, deps) => show(c, deps, c.req.param("id") ?? "");

async function show(c: RequestContext, deps: AppDeps, id: string | null): Promise<Response> {
  const { team } = c.get("principal");
  const counts = openCounts(c);
  const [setup, incidents] = await Promise.all([
    readSetup(c, deps),
    readOpenList(deps, team, counts),
  ]);
  const selected = id === null
    ? incidents[0] ?? null
    : isIncidentId(id)
    ? await deps.incidents.read(team, id)
    : null;
  if (id !== null && selected === null) return fail(c, NO_SUCH_INCIDENT);
  const details = selected === null ? null : await readIncidentDetails(deps, team, selected);
  const open = sumOf(counts);
  return showAlerts(c, setup, "open", {
    title: id === null || selected === null ? "Alerts" : selected.title,
    heading: "Alerts",
    lead: leadText(open, setup),
    body: selected === null || details === null
      ? <NoIncidents setup={setup} />
      : (
        <div class={id === null ? "split at-list" : "split at-entry"}>
          <OpenList {...{ incidents, open, selected: selected.id }} />
          <IncidentDetails {...{ incident: selected, ...details, setup, isAlone: id !== null }} />
        </div>
      ),
  });
}

/** Returns the state of the area in one sentence. */
function leadText(open: number, setup: AlertSetup): string {
  const failing = failingCount(setup);
  const parts = [
    `${open === 0 ? "None" : open} open`,
    ...failing === 0 ? [] : [`${countedText(failing, "channel")} failing`],
  ];
  return parts.join(", ");
}

const admin = teamKey("admin");

/** Incidents, their rules, and the channels that their messages go to. */
export const alertsPage: DashboardPage = {
  path: ALERTS_PATH,
  menu: { name: "Alerts", area: "main" },
  access: teamKey("read"),
  handler: showOpen,
  routes: [
    get(`${ALERTS_PATH}/incidents/:id`, showIncident),
    post(`${ALERTS_PATH}/incidents/:id`, submitChange, admin),
    post(`${ALERTS_PATH}/incidents/:id/silence`, submitIncidentSilence, admin),
    get(HISTORY_PATH, showHistory),
    get(RULES_PATH, showRules),
    { method: "GET", path: NEW_RULE_PATH, access: admin, handler: showNewRule },
    post(RULES_PATH, submitRule, admin),
    get(`${RULES_PATH}/:slug`, showRule),
    post(`${RULES_PATH}/:slug/enabled`, submitRuleEnabled, admin),
    post(`${RULES_PATH}/:slug/delete`, submitRuleDeletion, admin),
    get(CHANNELS_PATH, showChannels),
    { method: "GET", path: NEW_CHANNEL_PATH, access: admin, handler: showNewChannel },
    post(CHANNELS_PATH, submitNewChannel, admin),
    get(`${CHANNELS_PATH}/:slug`, showChannel),
    post(`${CHANNELS_PATH}/:slug`, submitChannel, admin),
    post(`${CHANNELS_PATH}/:slug/test`, submitTest, admin),
    get(`${CHANNELS_PATH}/:slug/rotate`, backToChannel),
    post(`${CHANNELS_PATH}/:slug/rotate`, submitRotation, admin),
    post(`${CHANNELS_PATH}/:slug/delete`, submitChannelDeletion, admin),
    get(DELIVERIES_PATH, showDeliveries),
    post(`${DELIVERIES_PATH}/:id/resend`, submitResend, admin),
    get(SILENCES_PATH, showSilences),
    { method: "GET", path: NEW_SILENCE_PATH, access: admin, handler: showNewSilence },
    post(SILENCES_PATH, submitSilence, admin),
    post(`${SILENCES_PATH}/:slug/end`, submitSilenceEnd, admin),
  ],
};
