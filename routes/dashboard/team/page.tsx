/** `/dashboard/team`: the team of the session; and the details that the operator sees of each. */
import type { Team } from "../../../domain/teams/team.ts";
import { CONTROL_RATE_FACTOR } from "../../../domain/core/limits.ts";
import type { Rate } from "../../../domain/core/token_bucket.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import type { Handler } from "../../http/admission.ts";
import { mayAdmin, teamKey } from "../../http/access.ts";
import { keyPath } from "../keys/paths.ts";
import type { DashboardPage } from "../layout/page.ts";
import { TEAM_PATH, USAGE_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { Ago } from "../components/elements.tsx";
import { formatCount } from "../components/format.ts";
import { type KeyValue, KeyValues } from "../components/key_values.tsx";

const showOwnTeam: Handler = (c, { environment, region }) => {
  const principal = c.get("principal");
  const { team, credentialId } = principal;
  const id = <code>{credentialId}</code>;
  const key = mayAdmin(principal) ? <a href={keyPath(credentialId)}>{id}</a> : id;
  return showPage(c, {
    title: `Team ${team.name}`,
    body: (
      <>
        <TeamDetails
          team={team}
          now={environment.now()}
          more={[["Region", region], ["Your key", key]]}
        />
        <TeamPlan team={team} />
        <p>
          <a href={USAGE_PATH}>How much of it is used</a>
        </p>
        <p class="soft">
          Name, plan, owner and limits are changed by the operator of this service: ask them.
        </p>
      </>
    ),
  });
};

interface TeamProps {
  readonly team: Team;
  readonly now: number;
}

/** Shows whether a team is active or suspended. */
export function TeamState({ team: { suspendedAt }, now }: TeamProps) {
  return suspendedAt === undefined
    ? <span class="state works">✓ served</span>
    : (
      <span class="state ending">
        ✕ suspended <Ago at={suspendedAt} now={now} />
      </span>
    );
}

/** Lists the stored attributes of a team. */
export function TeamDetails(
  { team, now, more = [] }: TeamProps & { readonly more?: readonly KeyValue[] },
) {
  const { id, tier, ownerEmail, createdAt } = team;
  return (
    <KeyValues
      pairs={[
        ["State", <TeamState team={team} now={now} />],
        ["Plan", tier],
        ["Owner", ownerEmail ?? "none: notices about the quota are not sent"],
        ["Since", createdAt === undefined ? "not known" : <Ago at={createdAt} now={now} />],
        ["Team id", <code>{id}</code>],
        ...more,
      ]}
    />
  );
}

/** Lists what a team's plan includes, with the team's own limits applied. */
export function TeamPlan({ team }: { readonly team: Team }) {
  const plan = planOfTeam(team);
  const rate = team.rate ?? { sustained: plan.requestsPerSecond, burst: plan.burst };
  const isOwn = team.rate !== undefined || team.limits !== undefined;
  const beyond = plan.eventsPerMonth === Infinity ? "" : "; beyond them nothing is refused";
  const sums = plan.recordDays === Infinity ? "" : "; sums by day stay";
  return (
    <>
      <h2>What the plan includes</h2>
      <KeyValues
        pairs={[
          ["Events a month", limitText(plan.eventsPerMonth) + beyond],
          ["Requests a second", rateText(rate)],
          ["Agents", `${limitText(plan.agentsMax)}, archived ones not counted`],
          [
            "Metadata keys a run",
            plan.metadataKeysMax === 0 ? "none is kept" : limitText(plan.metadataKeysMax),
          ],
          ["Events, outputs kept", daysText(plan.payloadDays)],
          ["Records kept", daysText(plan.recordDays) + sums],
        ]}
      />
      {isOwn && (
        <p class="soft">Some of this is agreed for this team instead of the plan's limits.</p>
      )}
    </>
  );
}

function rateText({ sustained, burst }: Rate): string {
  if (sustained === Infinity) return limitText(sustained);
  return `${formatCount(sustained)} sustained, ${formatCount(burst)} in a burst; ` +
    `${CONTROL_RATE_FACTOR} times that for what is not ingest`;
}

function limitText(limit: number): string {
  return limit === Infinity ? "without limit" : formatCount(limit);
}

function daysText(days: number): string {
  return days === Infinity ? "for ever" : `${formatCount(days)} days`;
}

export const teamPage: DashboardPage = {
  path: TEAM_PATH,
  menu: "Team",
  access: teamKey("read"),
  handler: showOwnTeam,
};
