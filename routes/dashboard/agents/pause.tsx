/** Pause and resume of an agent, on its page. */
import type { Child } from "hono/jsx";
import { includes, isPaused, PAUSES } from "../../../domain/budgets/budget.ts";
import { isConfigSlug } from "../../../domain/config/body.ts";
import type { Problem } from "../../../domain/core/errors.ts";
import { LASTS_HINT, pausedBy, REASON, untilAfter } from "../budgets/pauses.tsx";
import { At, Crumbs, InlineNotice } from "../components/elements.tsx";
import { formOf, FormProblem, readTexts, type Texts } from "../components/form_fields.tsx";
import { confirmedIn, ConfirmForm, ConfirmLink } from "../components/table.tsx";
import { actorNames } from "../keys/labels.tsx";
import { seeOther } from "../layout/page.tsx";
import { agentPath, AGENTS_PATH, PAUSES_PATH } from "../layout/paths.ts";
import { readAll } from "../objects/known_values.tsx";
import { type AgentScope, ofAgent } from "./agent_load.ts";

/** Reads the pauses that hold for all runs of an agent: its own, and those of the team. */
async function pausesOf({ deps, team, agent, now }: AgentScope) {
  const subject = { agent, customer: null, feature: null };
  return (await readAll({ deps, team }, PAUSES))
    .filter((pause) => isPaused(pause, now) && includes(pause.settings, subject));
}

/** The button that pauses the agent, or its form. */
export function pauseButton({ c, agent, isAdmin }: AgentScope): Child {
  if (!isAdmin || confirmedIn(c, "pause") !== null) return null;
  return <ConfirmLink path={agentPath(agent)} action="pause" label="Pause agent…" />;
}

/** Shows the pauses that hold the agent, and the form that pauses it. */
export async function agentPauses(scope: AgentScope): Promise<Child> {
  const { c, deps, team, agent, isAdmin } = scope;
  const pauses = await pausesOf(scope);
  const names = await actorNames(
    { deps, team },
    pauses.flatMap(({ updatedBy }) => updatedBy ?? []),
  );
  return [
    pauses.map(({ updatedBy: id, settings }) => (
      <InlineNotice kind="warn">
        <p>
          <strong>{settings.agent === agent ? "Paused" : "The team is paused"}</strong>
          {id !== null && [" by ", pausedBy(id, names, isAdmin)]}
          {settings.until !== null && [" until ", <At at={settings.until} />]}: {settings.reason}
        </p>
        {isAdmin && settings.agent === agent && (
          <form class="one" method="post" action={`${agentPath(agent)}/resume`}>
            <button type="submit" class="btn small">Resume</button>
          </form>
        )}
        {settings.agent !== agent && <a href={PAUSES_PATH}>All pauses</a>}
      </InlineNotice>
    )),
    isAdmin && confirmedIn(c, "pause") !== null && pauseForm(agent, {}, null),
  ];
}

function pauseForm(agent: string, texts: Texts, problem: Problem | null) {
  const { text } = formOf(texts, problem);
  return (
    <ConfirmForm
      action={`${agentPath(agent)}/pause`}
      title={`Pause “${agent}”?`}
      submit="Pause agent"
      cancel="Keep it running"
      cancelTo={agentPath(agent)}
    >
      <FormProblem problem={problem} fields={["reason", "lasts"]} />
      <p>
        An agent that asks before it starts is told to wait. Runs that it reports are stored as
        usual, and its monitor goes on.
      </p>
      {text("reason", "Reason", REASON)}
      {text("lasts", "Lasts", { hint: LASTS_HINT })}
    </ConfirmForm>
  );
}

/** Pauses an agent. If its slug cannot name the pause, or names another one, a hash of it does. */
export const submitAgentPause = ofAgent(async ({ c, deps, team, agent, made, onProblem }) => {
  const texts = readTexts(c.get("form"), ["reason", "lasts"]);
  onProblem((problem) => ({
    title: `Pause ${agent}`,
    crumbs: <Crumbs links={[["Agents", AGENTS_PATH], [agent, agentPath(agent)]]} />,
    body: pauseForm(agent, texts, problem),
  }));
  const reason = texts.reason || undefined;
  const body = { agent, reason, ...untilAfter(texts.lasts ?? "", made.at) };
  const { settings } = PAUSES.parse(body, made.at);
  const store = deps.objects(PAUSES);
  const known = isConfigSlug(agent) ? await store.read(team, agent) : null;
  // A pause of something else keeps its name.
  const isFree = isConfigSlug(agent) && (known === null || known.settings.agent === agent);
  const slug = isFree ? agent : `agent-${await hashOf(agent)}`;
  await store.put(team, slug, settings, isFree ? known?.version ?? 0 : null, made);
  return seeOther(agentPath(agent));
});

/** Removes the pauses of an agent. */
export const submitAgentResume = ofAgent(async (scope) => {
  const { deps, team, agent, made } = scope;
  for (const { slug, settings } of await pausesOf(scope)) {
    if (settings.agent === agent) await deps.objects(PAUSES).remove(team, slug, made);
  }
  return seeOther(agentPath(agent));
});

async function hashOf(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(bytes).toHex().slice(0, 16);
}
