/** Fields that narrow an object to agents, customers or features, with suggestions of known ones. */
import type { Child } from "hono/jsx";
import { nullIfRefused } from "../../../domain/core/errors.ts";
import { AGENTS_PER_PAGE } from "../../../domain/agents/agents.ts";
import { BUDGETS } from "../../../domain/budgets/budget.ts";
import { CHECKS } from "../../../domain/checks/check.ts";
import {
  CONFIG_PER_PAGE,
  type ConfigObject,
  type ObjectKind,
} from "../../../domain/config/objects.ts";
import { DAY_MS, dayOf } from "../../../domain/core/time.ts";
import type { Reader } from "../layout/page.tsx";
import { countValues } from "../runs/runs_load.ts";
import type { FieldBuilder } from "./form.tsx";

/** Names that fields suggest, by field. */
export type KnownValues = Awaited<ReturnType<typeof readKnownValues>>;

/** Days whose customers and features are known. */
const DAYS = 7;

/** Reads the agents, checks and budgets, and the customers and features of the last days. */
export async function readKnownValues(reader: Reader) {
  const nowMs = reader.deps.environment.now();
  const days = { from: dayOf(nowMs - DAYS * DAY_MS), to: dayOf(nowMs) };
  const namesOf = async (label: "customer" | "feature") =>
    [...(await countValues(reader, label, days)).keys()].sort();
  const [agents, customers, features, checks, budgets] = await Promise.all([
    readKnownAgents(reader),
    namesOf("customer"),
    namesOf("feature"),
    readAll(reader, CHECKS),
    readAll(reader, BUDGETS),
  ]);
  const slugsOf = (all: readonly { readonly slug: string }[]) => all.map(({ slug }) => slug);
  return { agents, customers, features, checks: slugsOf(checks), budgets: slugsOf(budgets) };
}

/** Reads all objects of a kind, up to its maximum. */
export async function readAll<Settings, Sent>(
  { deps, team }: Reader,
  of: ObjectKind<Settings, Sent>,
): Promise<readonly ConfigObject<Settings>[]> {
  return (await deps.objects(of).list(team, { limit: CONFIG_PER_PAGE.max, after: null })).objects;
}

/** Reads the first agents by slug. */
export async function readKnownAgents({ deps, team }: Reader) {
  const query = { sort: "agent", archived: false, limit: AGENTS_PER_PAGE.default } as const;
  const page = await deps.agents.list(team, { ...query, after: null }).catch(nullIfRefused);
  return page?.agents.map(({ agent }) => agent) ?? [];
}

/** The lists that fields name by `list`, such as `known-agents`. */
export function KnownLists(
  { known }: { readonly known: Partial<Readonly<Record<keyof KnownValues, readonly string[]>>> },
) {
  return (
    <>
      {Object.entries(known).map(([name, values]) => (
        <datalist id={`known-${name}`}>{values.map((value) => <option value={value} />)}</datalist>
      ))}
    </>
  );
}

/** Label and hint of the fields. */
const MATCH_FIELDS = {
  agents: ["Only these agents", "Slugs, by commas; a * at the end matches any rest. Empty: all."],
  customers: ["Only these customers", "Ids, by commas. Empty: all."],
  features: ["Only these features", "Names, by commas. Empty: all."],
  checks: ["Only these checks", "Slugs, by commas. Empty: all."],
  budgets: ["Only these budgets", "Slugs, by commas. Empty: all."],
} as const;

/** Builds fields of names by commas, with their suggestions. */
export function matchFields(
  field: FieldBuilder,
  names: readonly (keyof KnownValues)[],
  known: KnownValues,
): Child {
  return names.map((name) => {
    const [label, hint] = MATCH_FIELDS[name];
    return [
      field(name, label, hint, { "list": `known-${name}`, "data-names": "" }),
      <KnownLists known={{ [name]: known[name] }} />,
    ];
  });
}
