/** `/dashboard/search`: runs by id, agents, customers and pages; also the results of the dialog. */
import type { Child } from "hono/jsx";
import { refusalOf } from "../../../domain/teams/credentials.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import type { MenuEntry } from "../../http/context.ts";
import { Status } from "../components/elements.tsx";
import { Icon, type IconName } from "../components/icons.tsx";
import { At } from "../components/time.tsx";
import type { DashboardPage } from "../layout/page.ts";
import { agentPath, queryText, runPath, RUNS_PATH, SEARCH_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { SEARCH_CHARS_MAX, SearchField } from "../layout/search_dialog.tsx";
import { findAll, type Found, PART_OF_ID } from "./found.ts";

const NOTHING: Found = { runs: [], agents: [], customers: [] };

const showSearch: Handler = async (c, deps) => {
  const principal = c.get("principal");
  const text = (c.req.query("q") ?? "").trim().slice(0, SEARCH_CHARS_MAX);
  const { menu, nowMs } = c.get("frame");
  const hasRuns = principal.grant.kind !== "operator";
  const found = hasRuns ? await findAll(deps, principal.team, text, nowMs) : NOTHING;
  const pages = menu.filter(({ name, access }) =>
    refusalOf(principal, access) === null && name.toLowerCase().includes(text.toLowerCase())
  );
  return showPage(c, {
    title: "Search",
    body: (
      <div class="panel search">
        <form method="get" action={SEARCH_PATH} role="search">
          <SearchField id="q" value={text} />
        </form>
        <div id="found" class="found">
          <Results found={found} pages={pages} text={text} hasRuns={hasRuns} />
        </div>
      </div>
    ),
  });
};

interface ResultsProps {
  readonly found: Found;
  readonly pages: readonly MenuEntry[];
  readonly text: string;
  readonly hasRuns: boolean;
}

function Results({ found: { runs, agents, customers }, pages, text, hasRuns }: ResultsProps) {
  return (
    <>
      <Group title="Runs" isEmpty={runs.length === 0}>
        {runs.map(({ id, agent, status, startedAt, receivedAt }) => (
          <li>
            <a href={runPath(id)}>
              <Status of={status} isIcon />
              <span class="cut">{agent ?? "Run"}</span>
              <code class="cut quiet">…{id.slice(-8)}</code>
              <span class="end">
                <At at={startedAt ?? receivedAt} />
              </span>
            </a>
          </li>
        ))}
      </Group>
      <Group title="Agents" isEmpty={agents.length === 0}>
        {agents.map(({ agent, name }) => (
          <Result to={agentPath(agent)} icon="agent" name={name ?? agent} />
        ))}
      </Group>
      <Group title="Customers" isEmpty={customers.length === 0}>
        {customers.map((name) => (
          <Result
            to={RUNS_PATH + queryText([["customer_id", name]])}
            icon="user"
            name={name}
            note="runs"
          />
        ))}
      </Group>
      <Group title="Pages" isEmpty={pages.length === 0}>
        {pages.map(({ name, path }) => <Result to={path} icon="page" name={name} />)}
      </Group>
      {hasRuns && text !== "" && (
        <Group title="Filter" isEmpty={false}>
          <Result {...filterOf(text)} icon="search" />
        </Group>
      )}
    </>
  );
}

/** Returns the filter of Runs for a text: a part of an id, else an agent. */
function filterOf(text: string) {
  return PART_OF_ID.test(text)
    ? { to: RUNS_PATH + queryText([["q", text]]), name: `Runs with “${text}” in their id` }
    : { to: RUNS_PATH + queryText([["agent", text]]), name: `Runs of the agent “${text}”` };
}

interface GroupProps {
  readonly title: string;
  readonly isEmpty: boolean;
  readonly children?: Child;
}

function Group({ title, isEmpty, children }: GroupProps) {
  return isEmpty ? null : (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul>{children}</ul>
    </section>
  );
}

interface ResultProps {
  readonly to: string;
  readonly icon: IconName;
  readonly name: string;
  readonly note?: string;
}

function Result({ to, icon, name, note }: ResultProps) {
  return (
    <li>
      <a href={to}>
        <Icon name={icon} />
        <span class="cut">{name}</span>
        {note !== undefined && <span class="end">{note}</span>}
      </a>
    </li>
  );
}

export const searchPage: DashboardPage = {
  path: SEARCH_PATH,
  access: teamKeyOrOperator("read"),
  handler: showSearch,
};
