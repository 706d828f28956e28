/** `/dashboard/search`: runs by id, agents, customers and pages; also the results of the dialog. */
import type { Child } from "hono/jsx";
import { refusalOf } from "../../../domain/teams/credentials.ts";
import { teamKeyOrOperator } from "../../http/access.ts";
import type { Handler } from "../../http/admission.ts";
import type { MenuEntry } from "../../http/context.ts";
import { Status } from "../components/elements.tsx";
import { agoText } from "../components/format.ts";
import { Icon, type IconName } from "../components/icons.tsx";
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
import { findAll, type Found, NO_RUNS } from "./found.ts";

const NOTHING: Found = { ...NO_RUNS, agents: [], customers: [] };

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
          <Results found={found} pages={pages} text={text} hasRuns={hasRuns} nowMs={nowMs} />
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
  readonly nowMs: number;
}

function Results({ found, pages, text, hasRuns, nowMs }: ResultsProps) {
  const { runs, lines, searchedTo, agents, customers } = found;
  const hasText = hasRuns && text !== "";
  return (
    <>
      <Group title="Agents" isEmpty={agents.length === 0}>
        {agents.map(({ agent, name }) => (
          <Result to={agentPath(agent)} icon="agent" name={name ?? agent} />
        ))}
      </Group>
      <Group title="Runs" isEmpty={!hasText}>
        {runs.map((run) => (
          <li>
            <a href={runPath(run.id)}>
              <Status of={run.status} isIcon />
              <span class="cut">{nameOf(run, lines.get(run.id))}</span>
              <span class="end">
                {run.agent} <At at={run.startedAt ?? run.receivedAt} />
              </span>
            </a>
          </li>
        ))}
        <Result
          to={RUNS_PATH + queryText([["text", text]])}
          icon="search"
          name={`All runs that contain “${text}”`}
          note={searchedTo === null ? undefined : `searched back to ${agoText(searchedTo, nowMs)}`}
        />
      </Group>
      <Group title="Customers" isEmpty={customers.length === 0}>
        {customers.flatMap((name) =>
          [[RUNS_PATH, "runs"], [SPEND_PATH, "spend"]].map(([path, note]) => (
            <Result
              to={path + queryText([["customer_id", name]])}
              icon="user"
              name={name}
              note={note}
            />
          ))
        )}
      </Group>
      <Group title="Pages" isEmpty={pages.length === 0}>
        {pages.map(({ name, path }) => <Result to={path} icon="page" name={name} />)}
      </Group>
    </>
  );
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
  readonly note?: string | undefined;
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
