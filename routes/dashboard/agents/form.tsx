/** The form that changes the name, the notes and the archive of an agent. */
import type { Handler } from "../../http/admission.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { AGENT_CHARS_MAX, AGENT_NOTES_CHARS_MAX } from "../../../domain/core/limits.ts";
import { isName } from "../../../domain/core/rules.ts";
import { type AgentRecord, parseAgentPatch } from "../../../domain/agents/agents.ts";
import { NO_SUCH_AGENT } from "../../api/agents/agents.ts";
import { fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { nameInPath } from "../../http/query.ts";
import { agentPath, AGENTS_PATH } from "../layout/paths.ts";
import { seeOther, showPage } from "../layout/reply.tsx";
import { Crumbs } from "../components/elements.tsx";
import { bodyOf, Field, FormProblem } from "../components/form_fields.tsx";

/** Reads the agent of the path; null when the team has none of that slug. */
export async function readAgent({ agents }: AppDeps, c: RequestContext) {
  const slug = nameInPath(c);
  return isName(slug, AGENT_CHARS_MAX) ? await agents.read(c.get("principal").team, slug) : null;
}

/** Path suffix of the settings of an agent, with a notice that they were saved. */
const SAVED_SETTINGS = "?tab=settings&done=saved";

type AgentFields = Pick<AgentRecord, "name" | "notes" | "archived">;

/** Changes an agent and redirects to its page, or shows the form again. */
export const submitAgentChange: Handler = async (c, deps) => {
  const record = await readAgent(deps, c);
  if (record === null) return fail(c, NO_SUCH_AGENT);
  const { agent } = record;
  const typed = readFields(c.get("form"));
  c.set("renderProblem", (c, problem, headers) =>
    showPage(c, {
      title: record.name ?? agent,
      crumbs: <Crumbs links={[["Agents", AGENTS_PATH], [agent, agentPath(agent)]]} />,
      problem,
      body: <AgentForm agent={agent} typed={typed} problem={problem} />,
    }, headers));
  const patch = parseAgentPatch(bodyOf({ ...typed }));
  if (!patch.ok) return fail(c, patch.problem);
  const { team, credentialId } = c.get("principal");
  const edit = { by: credentialId, at: deps.environment.now() };
  const changed = await deps.agents.change(team, agent, patch.value, edit);
  if (changed === null) return fail(c, NO_SUCH_AGENT);
  return changed.ok ? seeOther(agentPath(agent) + SAVED_SETTINGS) : fail(c, changed.problem);
};

/** Reads the fields; turns the CRLF that forms send into LF. */
function readFields(form: URLSearchParams): AgentFields {
  return {
    name: form.get("name") ?? "",
    notes: (form.get("notes") ?? "").replaceAll("\r\n", "\n"),
    archived: form.get("archived") === "true",
  };
}

interface AgentFormProps {
  readonly agent: string;
  readonly typed: AgentFields;
  readonly problem: Problem | null;
}

export function AgentForm({ agent, typed, problem }: AgentFormProps) {
  const { name, notes, archived } = typed;
  return (
    <form class="narrow" method="post" action={agentPath(agent)}>
      <FormProblem problem={problem} fields={["name", "notes"]} />
      <Field
        name="name"
        label="Name"
        value={name ?? ""}
        problem={problem}
        maxlength={AGENT_CHARS_MAX}
        placeholder={agent}
        hint="Shown instead of the slug; clients go on sending the slug."
      />
      <Field
        name="notes"
        label="Notes"
        value={notes ?? ""}
        problem={problem}
        rows={4}
        hint={`What it does, who looks after it. At most ${AGENT_NOTES_CHARS_MAX} characters.`}
      />
      <label>
        <input
          type="checkbox"
          name="archived"
          value="true"
          checked={archived}
          aria-describedby="archived-hint"
        />
        Archived
      </label>
      <small id="archived-hint" class="under">
        Hides it from the board. Its history stays, and its next run restores it.
      </small>
      <button type="submit" class="btn main">Save</button>
    </form>
  );
}
