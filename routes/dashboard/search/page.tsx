/** `/dashboard/search`: runs by id, agents, customers and pages; also the results of the dialog. */
import type { Child } from "hono/jsx";
import { refusalOf } from "../../../domain/teams/credentials.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import { At, Status } from "../components/elements.tsx";
import { agoText } from "../components/format.ts";
import { Icon } from "../components/icons.tsx";
import type { DashboardPage, PageHandler } from "../layout/page.tsx";
import * as paths from "../layout/paths.ts";
import { nameOr } from "../run/texts.ts";
import { SEARCH_CHARS_MAX, SearchField } from "../layout/layout.tsx";
import { loadSearch } from "./search_load.ts";

const showSearch: PageHandler = async (visit) => {
  const { c, principal } = visit;
  const text = (c.req.query("q") ?? "").trim().slice(0, SEARCH_CHARS_MAX);
  const { menu, nowMs } = c.get("frame");
  const matches = principal.grant.kind !== "operator" && await loadSearch(visit, text, nowMs);
  const pages = menu.filter(({ name, access }) =>
    refusalOf(principal, access) === null && name.toLowerCase().includes(text.toLowerCase())
  );
  const groups = {
    ...matches && resultsOf(matches, text, nowMs),
    Pages: pages.map(({ name, path }) => result(path, <Icon name="page" />, name)),
  };
  return {
    title: "Search",
    body: (
      <div class="panel search">
        <form method="get" action={paths.SEARCH_PATH} role="search">
          <SearchField id="q" value={text} />
        </form>
        <div id="found" class="found">
          {Object.entries(groups).map(([title, results]) =>
            results.length > 0 && (
              <section aria-label={title}>
                <h2>{title}</h2>
                <ul>{results}</ul>
              </section>
            )
          )}
        </div>
      </div>
    ),
  };
};

/** Returns the results in the team, by kind. */
function resultsOf(matches: Awaited<ReturnType<typeof loadSearch>>, text: string, nowMs: number) {
  const { runs, lines, searchedTo, agents, customers } = matches;
  const runResults = runs.map((run) => {
    const name = nameOr(run, lines.get(run.id)?.name);
    const note = [run.agent, " · ", <At at={run.startedAt ?? run.receivedAt} />];
    return result(paths.runPath(run.id), <Status of={run.status} isIcon />, name, note);
  });
  const allRuns = result(
    paths.RUNS_PATH + paths.queryText([["text", text]]),
    <Icon name="search" />,
    `All runs that contain “${text}”`,
    searchedTo !== null && `searched back to ${agoText(searchedTo, nowMs)}`,
  );
  return {
    Agents: agents.map(({ agent, name }) =>
      result(paths.agentPath(agent), <Icon name="agent" />, name ?? agent)
    ),
    Runs: text === "" ? [] : [...runResults, allRuns],
    Customers: customers.flatMap((name) => {
      const query = paths.queryText([["customer_id", name]]);
      return [[paths.RUNS_PATH + query, "runs"], [paths.SPEND_PATH + query, "spend"]]
        .map(([to = "", note]) => result(to, <Icon name="user" />, name, note));
    }),
  };
}

/** A link with an icon, and a note at the right. */
function result(to: string, icon: Child, name: string, note?: Child) {
  return (
    <li>
      <a href={to}>
        {icon}
        <span class="cut">{name}</span>
        {note && <span class="end">{note}</span>}
      </a>
    </li>
  );
}

export const searchPage: DashboardPage = {
  path: paths.SEARCH_PATH,
  access: teamKeyOrOperator("read"),
  handler: showSearch,
};
