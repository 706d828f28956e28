/** `/dashboard/search`: runs by id, agents, customers and pages; also the results of the dialog. */
import type { Child } from "hono/jsx";
import { refusalOf } from "../../../domain/teams/credentials.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import { Status } from "../components/elements.tsx";
import { agoText } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import { At } from "../components/time.tsx";
import type { DashboardPage } from "../layout/page.ts";
import {
  agentPath,
  queryText,
  runPath,
  RUNS_PATH,
  SEARCH_PATH,
  SPEND_PATH,
} from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { nameOf } from "../runs/runs_view.ts";
import { SEARCH_CHARS_MAX, SearchField } from "../layout/search_dialog.tsx";
import { type Found, loadSearch } from "./search_load.ts";

const showSearch: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const text = (c.req.query("q") ?? "").trim().slice(0, SEARCH_CHARS_MAX);
  const { menu, nowMs } = c.get("frame");
  const hasRuns = principal.grant.kind !== "operator";
  const groups = hasRuns
    ? groupsOf(await loadSearch(deps, principal.team, text, nowMs), text, nowMs)
    : [];
  const pages = menu.filter(({ name, access }) =>
    refusalOf(principal, access) === null && name.toLowerCase().includes(text.toLowerCase())
  ).map(({ name, path }) => ({ to: path, icon: <Icon name="page" />, name }));
  return showPage(c, {
    title: "Search",
    body: (
      <div class="panel search">
        <form method="get" action={SEARCH_PATH} role="search">
          <SearchField id="q" value={text} />
        </form>
        <div id="found" class="found">
          {[...groups, { title: "Pages", results: pages }].map(Group)}
        </div>
      </div>
    ),
  });
};

interface ResultGroup {
  readonly title: string;
  readonly results: readonly {
    readonly to: string;
    readonly icon: Child;
    readonly name: string;
    /** Shown at the right. */
    readonly note?: Child;
  }[];
}

/** Returns what was found in the team, by kind. */
function groupsOf(found: Found, text: string, nowMs: number): readonly ResultGroup[] {
  const { runs, lines, searchedTo, agents, customers } = found;
  const agentResults = agents.map(({ agent, name }) => ({
    ...{ to: agentPath(agent), icon: <Icon name="agent" />, name: name ?? agent },
  }));
  const runResults = runs.map((run) => ({
    to: runPath(run.id),
    icon: <Status of={run.status} isIcon />,
    name: nameOf(run, lines.get(run.id)),
    note: (
      <>
        {run.agent} <At at={run.startedAt ?? run.receivedAt} />
      </>
    ),
  }));
  const allRuns = {
    to: RUNS_PATH + queryText([["text", text]]),
    icon: <Icon name="search" />,
    name: `All runs that contain “${text}”`,
    note: searchedTo !== null && `searched back to ${agoText(searchedTo, nowMs)}`,
  };
  const customerResults = customers.flatMap((name) =>
    [[RUNS_PATH, "runs"], [SPEND_PATH, "spend"]].map(([path, note]) => ({
      ...{ to: path + queryText([["customer_id", name]]), icon: <Icon name="user" />, name, note },
    }))
  );
  return [
    { title: "Agents", results: agentResults },
    { title: "Runs", results: text === "" ? [] : [...runResults, allRuns] },
    { title: "Customers", results: customerResults },
  ];
}

function Group({ title, results }: ResultGroup) {
  return results.length === 0 ? null : (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {results.map(({ to, icon, name, note }) => (
          <li>
            <a href={to}>
              {icon}
              <span class="cut">{name}</span>
              {note && <span class="end">{note}</span>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

export const searchPage: DashboardPage = {
  path: SEARCH_PATH,
  access: teamKeyOrOperator("read"),
  handler: showSearch,
};
