import type { Team } from "../../../domain/teams/team.ts";
import { planOfTeam } from "../../../domain/teams/plans.ts";
import { formatCount } from "../components/format.ts";

export function PlanLimits({ team }: { readonly team: Team }) {
  const plan = planOfTeam(team);
  const sustained = team.rate?.sustained ?? plan.requestsPerSecond;
  const burst = team.rate?.burst ?? plan.burst;
  const limits: readonly (readonly [string, string])[] = [
    ["Plan", team.tier],
    ["Events a month", textOf(plan.eventsPerMonth)],
    [
      "Requests",
      sustained === Infinity
        ? "no limit"
        : `${formatCount(sustained)} a second, ${formatCount(burst)} at once`,
    ],
    ["Agents", textOf(plan.agentsMax)],
    ["Metadata keys of a run", plan.metadataKeysMax === 0 ? "none" : textOf(plan.metadataKeysMax)],
    ["Events, outputs and metadata are kept", daysText(plan.payloadDays)],
    ["Records of runs are kept", daysText(plan.recordDays)],
  ];
  return (
    <section>
      <h2>The plan</h2>
      <table class="plan">
        <tbody>
          {limits.map(([name, value]) => (
            <tr>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="soft">
        Totals of spend and usage are kept forever. Only the operator of this service can change a
        plan.
      </p>
    </section>
  );
}

function textOf(limit: number): string {
  return limit === Infinity ? "no limit" : formatCount(limit);
}

function daysText(days: number): string {
  return days === Infinity ? "until they are deleted" : `${formatCount(days)} days`;
}
