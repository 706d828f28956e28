/** Known agents, customers and features, which fields of forms suggest. */
import { AGENTS_PER_PAGE } from "../../../domain/agents/agents.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import { labelOf } from "../../../domain/spend/spend_query.ts";
import type { Team } from "../../../domain/teams/team.ts";
import type { AppDeps } from "../../http/context.ts";

/** Names that fields suggest, by the field of a match. */
export interface KnownValues {
  readonly agents: readonly string[];
  readonly customers: readonly string[];
  readonly features: readonly string[];
}

/** Days whose customers and features are known, and maximum rows read of each. */
const DAYS = 7, ROWS_READ = 500;

/** Reads the agents seen last, and the customers and features of the last days. */
export async function readKnownValues(
  { agents, spend, environment }: Pick<AppDeps, "agents" | "spend" | "environment">,
  team: Team,
): Promise<KnownValues> {
  const nowMs = environment.now();
  const namesOf = async (kind: "customer" | "feature") => {
    const names = new Set<string>();
    let remaining = ROWS_READ;
    for await (const rows of spend.rows(team, kind, dayOf(nowMs - DAYS * DAY_MS), dayOf(nowMs))) {
      for (const { group } of rows.slice(0, remaining)) {
        const name = labelOf(group, kind);
        if (name !== null) names.add(name);
      }
      remaining -= rows.length;
      if (remaining <= 0) break;
    }
    return [...names].sort();
  };
  const [page, customers, features] = await Promise.all([
    agents.list(team, {
      ...{ sort: "agent", archived: false, after: null },
      limit: AGENTS_PER_PAGE.default,
    }),
    namesOf("customer"),
    namesOf("feature"),
  ]);
  return {
    agents: page.ok ? page.value.agents.map(({ agent }) => agent) : [],
    customers,
    features,
  };
}

/** The lists that fields name by `list`: `known-agents`, `known-customers`, `known-features`. */
export function KnownLists({ known }: { readonly known: Partial<KnownValues> }) {
  return (
    <>
      {Object.entries(known).map(([name, values]) => (
        <datalist id={`known-${name}`}>
          {values.map((value) => <option value={value} />)}
        </datalist>
      ))}
    </>
  );
}
