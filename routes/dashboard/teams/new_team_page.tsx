/** `/dashboard/teams/new`: makes a team, for the operator. */
import { ERRORS, type Problem } from "../../../domain/core/errors.ts";
import { TEAM_NAME_CHARS_MAX } from "../../../domain/core/limits.ts";
import { TIER_NAMES } from "../../../domain/teams/plans.ts";
import { parseNewTeam } from "../../../domain/teams/team_change.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, Handle, RequestContext } from "../../http/context.ts";
import { TEAMS_PATH } from "../layout/paths.ts";
import { showPage } from "../layout/reply.tsx";
import { showSecret } from "../keys/secret.tsx";
import { bodyOf, Choice, Field, FormProblem } from "../components/form_fields.tsx";
import { teamPath } from "./paths.ts";

/** What was typed. */
interface Typed {
  readonly name: string;
  readonly tier: string;
  readonly ownerEmail: string;
}

/** Shows the form. */
export const showNewTeam: Handle = (c) =>
  showForm(c, { name: "", tier: TIER_NAMES[0], ownerEmail: "" }, null);

/** Makes a team and shows the secret of its first key, or the form again. */
export function makeTeam({ teams }: AppDeps): Handle {
  return async (c) => {
    const form = c.get("form");
    const typed: Typed = {
      name: form.get("name") ?? "",
      tier: form.get("tier") ?? "",
      ownerEmail: (form.get("owner_email") ?? "").trim(),
    };
    c.set("renderProblem", (c, problem, headers) => showForm(c, typed, problem, headers));
    const { name, tier, ownerEmail } = typed;
    const fields = { name, tier, owner_email: ownerEmail === "" ? null : ownerEmail };
    const spec = parseNewTeam(bodyOf(fields));
    if (!spec.ok) return fail(c, spec.problem);
    const { team, ...made } = await teams.create(spec.value);
    return showSecret(c, made, {
      title: `Team made: ${team.name}`,
      next: (
        <>
          I have copied it: <a href={teamPath(team.id)}>to the team</a>
        </>
      ),
    });
  };
}

function showForm(
  c: RequestContext,
  { name, tier, ownerEmail }: Typed,
  problem: Problem | null,
  headers: Record<string, string> = {},
): Response {
  return showPage(c, {
    title: "New team",
    aside: <a href={TEAMS_PATH}>All teams</a>,
    status: problem === null ? 200 : ERRORS[problem.code].status,
    body: (
      <form class="narrow" method="post" action={TEAMS_PATH}>
        <FormProblem problem={problem} fields={["name", "owner_email"]} />
        <Field
          name="name"
          label="Name"
          value={name}
          problem={problem}
          required
          maxlength={TEAM_NAME_CHARS_MAX}
        />
        <Choice name="tier" label="Plan" value={tier} words={PLAN_LABELS} />
        <Field
          name="owner_email"
          label="Owner's e-mail address"
          type="email"
          value={ownerEmail}
          problem={problem}
          hint="Notices about the quota go there; empty for nobody."
        />
        <button type="submit">Make the team</button>
      </form>
    ),
  }, headers);
}

/** The plans to choose from. */
export const PLAN_LABELS = TIER_NAMES.map((tier) => [tier, tier] as const);
