/** `/dashboard/teams`: all teams, for the operator, and the form for a new one. */
import { Query } from "../../../domain/core/query.ts";
import { existing, type Problem } from "../../../domain/core/errors.ts";
import { TIER_NAMES, TIER_OF_OWN_LIMITS } from "../../../domain/teams/plans.ts";
import type { Team } from "../../../domain/teams/team.ts";
import { parseNewTeam, parseTeamChange, teamFields } from "../../../domain/teams/team_change.ts";
import { OPERATOR_ONLY } from "../../http/access.ts";
import { encodeCursor, queryOf } from "../../http/query.ts";
import { NO_SUCH_TEAM, teamIdOf } from "../../api/teams/teams.ts";
import {
  type DashboardPage,
  get,
  type PageHandler,
  post,
  seeOther,
  type View,
} from "../layout/page.tsx";
import { teamPath, TEAMS_PATH } from "../layout/paths.ts";
import { At, Crumbs, Done, SAVED } from "../components/elements.tsx";
import {
  type Column,
  column,
  confirmedIn,
  ConfirmForm,
  ConfirmLink,
  listPage,
  nameColumn,
  nextPath,
} from "../components/table.tsx";
import {
  bodyOf,
  formOf,
  FormProblem,
  readInteger,
  readTexts,
  type Texts,
  textsOf,
} from "../components/form_fields.tsx";
import { showSecret } from "../keys/key_page.tsx";
import { teamDetails, teamPlan, teamState } from "../plan/team.tsx";
import { SCOPES } from "../../../domain/teams/credentials.ts";
import { KEY_NAME_CHARS_MAX, TEAM_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { parseKey } from "../../../domain/teams/key_list.ts";
import type { RequestContext } from "../../http/context.ts";
import { scopeBoxes } from "../keys/labels.tsx";

const showTeams: PageHandler = async ({ c, deps: { teams } }) => {
  const query = new Query(queryOf(c)).page(teamIdOf);
  const page = await teams.page(query);
  const limit = c.req.query("limit") ?? null;
  return listPage({
    title: "Teams",
    aside: <a class="btn main" href={`${TEAMS_PATH}/new`}>New team</a>,
    table: { label: "Teams", class: "fold", columns: COLUMNS, rows: page.teams },
    empty: ["No team here", "Create one: its first key comes with it."],
    next: nextPath(TEAMS_PATH, { limit }, page.next && encodeCursor(page.next)),
  });
};

const COLUMNS: readonly Column<Team>[] = [
  nameColumn("Name", ({ id, name }) => <a class="row" href={teamPath(id)}>{name}</a>),
  { head: "Plan", cell: ({ tier, rate, limits }) => rate || limits ? `${tier}, own limits` : tier },
  { head: "State", cell: teamState },
  { head: "Owner", before: "owner", cell: ({ ownerEmail }) => ownerEmail ?? "–" },
  column(
    "Created",
    { before: "created" },
    ({ createdAt }) => createdAt === undefined ? "–" : <At at={createdAt} />,
  ),
  { head: "Id", cell: ({ id }) => <code>{id}</code> },
];

const showNewTeam: PageHandler = () => newTeamView({ tier: TIER_NAMES[0] }, null);

/** Creates a team and shows the secret of its first key, or the form again. */
const submitNewTeam: PageHandler = async ({ c, deps: { teams }, onProblem }) => {
  const texts = readTexts(c.get("form"), NEW_TEAM_FIELDS);
  onProblem((problem) => newTeamView(texts, problem));
  const spec = parseNewTeam(bodyOf({ ...texts, owner_email: texts.owner_email || null }));
  const { team, ...created } = await teams.create(spec);
  return showSecret(c, created, {
    title: `Team created: ${team.name}`,
    next: [teamPath(team.id), "to the team"],
  });
};

function newTeamView(texts: Texts, problem: Problem | null): View {
  return {
    title: "New team",
    crumbs: <Crumbs links={[["Teams", TEAMS_PATH]]} />,
    body: (
      <form class="narrow" method="post" action={TEAMS_PATH}>
        {newTeamFields(texts, problem)}
        <button type="submit" class="btn main">Create team</button>
      </form>
    ),
  };
}

const RATES = { sustained: "Sustained", burst: "Burst" } as const;
const LIMITS = {
  events_per_month: "Events a month",
  agents_max: "Agents",
  metadata_keys_max: "Metadata keys",
  payload_days: "Days events are kept",
  record_days: "Days records are kept",
} as const;

/** Names of the fields of a new team, and of the change form. */
const NEW_TEAM_FIELDS = ["name", "tier", "owner_email"];
const TEAM_FIELDS = [...NEW_TEAM_FIELDS, ...Object.keys({ ...RATES, ...LIMITS })];

/** Shows a team, with the confirmation that the address asks for. */
const showTeam: PageHandler = async ({ c, deps: { teams } }) => {
  const team = existing(await teams.get(c.req.param("id") ?? ""), NO_SUCH_TEAM);
  return teamView(c, team);
};

/** Changes a team and redirects to its page, or shows the form again. */
const submitTeamChange: PageHandler = async ({ c, deps: { teams }, onProblem }) => {
  const team = existing(await teams.get(c.req.param("id") ?? ""), NO_SUCH_TEAM);
  const texts = readTexts(c.get("form"), TEAM_FIELDS);
  onProblem((problem) => teamView(c, team, { texts, problem }));
  const change = parseTeamChange(bodyOf(changeBody(team, texts)));
  existing(await teams.change(team.id, change), NO_SUCH_TEAM);
  return seeOther(teamPath(team.id) + SAVED);
};

/** Suspends or resumes a team. */
function submitSuspension(suspended: boolean): PageHandler {
  return async ({ c, deps: { teams } }) => {
    const change = { name: undefined, tier: undefined, suspended };
    const changed = await teams.change(c.req.param("id") ?? "", change);
    return seeOther(teamPath(existing(changed, NO_SUCH_TEAM).id));
  };
}

/** Creates a key for a team and shows its secret, or the form again. */
const submitTeamKey: PageHandler = async ({ c, deps, credentialId, onProblem }) => {
  const { teams, credentials } = deps;
  const team = existing(await teams.get(c.req.param("id") ?? ""), NO_SUCH_TEAM);
  const form = c.get("form");
  const [name, scopes] = [form.get("key_name") ?? "", form.getAll("scopes")];
  onProblem((problem) => teamView(c, team, { name, scopes, keyProblem: problem }));
  const spec = parseKey(bodyOf({ kind: "api_key", name, scopes }));
  const created = await credentials.create(team, spec, credentialId);
  return showSecret(c, created, {
    title: `Key created for ${team.name}`,
    next: [teamPath(team.id), "to the team"],
  });
};

/** Redirects a reload of a secret's page to its team, because a secret is shown once. */
const backToTeam: PageHandler = ({ c }) => seeOther(teamPath(c.req.param("id") ?? ""));

/** Fills in the form from a team. */
function textsOfTeam(team: Team): Texts {
  const { rate, limits, ...fields } = teamFields(team);
  return textsOf(TEAM_FIELDS, { ...fields, ...Object(rate), ...Object(limits) });
}

/**
 * Builds the body of the call; an empty field removes its value. Unchanged limits are left out, so
 * that a change of the plan takes a single step.
 */
function changeBody(team: Team, texts: Texts): Record<string, unknown> {
  const { name, tier, owner_email } = texts;
  const stored = textsOfTeam(team);
  const isChanged = Object.keys(LIMITS).some((name) => texts[name] !== stored[name]);
  const numbers = (fields: typeof RATES | typeof LIMITS) => {
    const filled = Object.keys(fields).filter((name) => texts[name]);
    const numbers = filled.map((name) => [name, readInteger(texts[name] ?? "")]);
    return filled.length === 0 ? null : Object.fromEntries(numbers);
  };
  return {
    name,
    tier,
    owner_email: owner_email || null,
    rate: numbers(RATES),
    ...isChanged && { limits: numbers(LIMITS) },
  };
}

/** The fields of the two forms as submitted, if one of them was rejected. */
interface Submitted {
  readonly texts?: Texts;
  readonly problem?: Problem;
  readonly name?: string;
  readonly scopes?: readonly string[];
  readonly keyProblem?: Problem;
}

function teamView(c: RequestContext, team: Team, submitted: Submitted = {}): View {
  const { texts = textsOfTeam(team), problem = null } = submitted;
  const { name = "", scopes = SCOPES, keyProblem = null } = submitted;
  const path = teamPath(team.id);
  return {
    title: team.name,
    crumbs: <Crumbs links={[["Teams", TEAMS_PATH]]} />,
    body: [
      <Done c={c} />,
      teamDetails(team),
      suspension(c, team, path),
      teamPlan(team),
      <form class="narrow" method="post" action={path}>
        <h2>Change the team</h2>
        {newTeamFields(texts, problem)}
        {numberFields(
          RATES,
          texts,
          "Requests a second instead of the plan's",
          "Both, or neither for the plan's.",
        )}
        {numberFields(
          LIMITS,
          texts,
          `Limits of the plan “${TIER_OF_OWN_LIMITS}”`,
          "Empty is without limit. Other plans have limits of their own.",
        )}
        <button type="submit" class="btn main">Save</button>
      </form>,
      <form class="narrow" method="post" action={`${path}/keys`}>
        <h2>Create a key for the team</h2>
        <FormProblem problem={keyProblem} fields={["name", "scopes"]} />
        {formOf({ key_name: name }, keyProblem).text("key_name", "Name of the key", {
          of: "name",
          required: true,
          maxlength: KEY_NAME_CHARS_MAX,
          hint: "For a team that lost its last key; it creates its own others.",
        })}
        {scopeBoxes(scopes, keyProblem)}
        <button type="submit" class="btn">Create key</button>
      </form>,
    ],
  };
}

/** The link that suspends or resumes a team, or the form that asks for confirmation. */
function suspension(c: RequestContext, { name, suspendedAt }: Team, path: string) {
  const [does, verb, effect] = suspendedAt === undefined
    ? ["suspend", "Suspend", SUSPENSION] as const
    : ["resume", "Resume", "Its keys work again at once."] as const;
  if (confirmedIn(c, does) === null) {
    return (
      <p>
        <ConfirmLink path={path} action={does} label={`${verb} team…`} />
      </p>
    );
  }
  return (
    <ConfirmForm
      action={`${path}/${does}`}
      title={`${verb} “${name}”?`}
      submit={`${verb} the team`}
      submitClass={does === "suspend" ? "btn danger" : "btn main"}
      cancel="Cancel"
      cancelTo={path}
    >
      <p>{effect}</p>
    </ConfirmForm>
  );
}

const SUSPENSION = "Every call of its keys is refused with 403 until it is resumed, and its " +
  "agents' runs are lost meanwhile. What is stored is kept.";

/** Builds the fields that the form for a new team has, too. */
function newTeamFields(texts: Texts, problem: Problem | null) {
  const { text, choice } = formOf(texts, problem);
  return [
    <FormProblem problem={problem} fields={["name", "owner_email"]} />,
    text("name", "Name", { required: true, maxlength: TEAM_NAME_CHARS_MAX }),
    choice("tier", "Plan", TIER_NAMES),
    text("owner_email", "Owner's e-mail address", {
      type: "email",
      hint: "Notices about the quota are sent there; empty for none.",
    }),
  ];
}

function numberFields(
  fields: Readonly<Record<string, string>>,
  texts: Texts,
  legend: string,
  hint: string,
) {
  const { text } = formOf(texts, null);
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="fields">
        {Object.entries(fields).map(([name, label]) =>
          text(name, label, { type: "number", min: 1 })
        )}
      </div>
      <small>{hint}</small>
    </fieldset>
  );
}

/** The page of each team, and the forms that change it. */
const teamRoutes = [
  get(`${TEAMS_PATH}/:id`, showTeam),
  post(`${TEAMS_PATH}/:id`, submitTeamChange),
  post(`${TEAMS_PATH}/:id/suspend`, submitSuspension(true)),
  post(`${TEAMS_PATH}/:id/resume`, submitSuspension(false)),
  post(`${TEAMS_PATH}/:id/keys`, submitTeamKey),
  get(`${TEAMS_PATH}/:id/keys`, backToTeam),
];

/** The list of teams, the page of each, and the forms that change them. */
export const teamsPage: DashboardPage = {
  path: TEAMS_PATH,
  menu: { name: "Teams", area: "settings" },
  access: OPERATOR_ONLY,
  handler: showTeams,
  routes: [post(TEAMS_PATH, submitNewTeam), get(`${TEAMS_PATH}/new`, showNewTeam), ...teamRoutes],
};
