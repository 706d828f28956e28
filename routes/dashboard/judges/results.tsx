/** Results of judges in words: on a run's page, and of a dry run. */
import type { Judge } from "../../../domain/judges/judge.ts";
import type { Obstacle } from "../../../domain/judges/obstacle.ts";
import type { JudgeResult } from "../../../domain/runs/record.ts";
import { type Label, LabelSign, Money } from "../components/elements.tsx";
import { durationText } from "../components/format.ts";
import { judgePath } from "../layout/paths.ts";

const CLEARER = "Say in the rubric how to answer, or use another model.";

/** Causes of a result that is missing, and of a judge that is blocked: what it means, what to do. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ["no_output", "The run has no output, which the rubric names."],
  ["payload_removed", "The payload was removed by age, as the plan says."],
  ["too_many_events", "The run has too many events for one prompt."],
  ["budget", "The cap of the day was used up. Raise it, or judge fewer runs."],
  [
    "too_dear",
    "One call can cost more than the cap of a day. Raise the cap, or allow fewer tokens.",
  ],
  ["unpriced", "The model has no price on the rate card. Add one."],
  ["disabled", "The judge was disabled."],
  ["deleted", "The judge was deleted."],
  ["timeout", "The model did not answer in time. The call counts with its worst case."],
  ["no_answer", "The model did not answer in time, or not completely."],
  ["unreachable", "The model's server cannot be reached."],
  [
    "limit_ignored",
    "The server answers with more tokens than it is asked for. Use another server.",
  ],
  ["insufficient_quota", "The account of the model's provider is empty. Add credit there."],
  ["http_401", "The provider refuses the key. The operator corrects it, then save the judge."],
  ["http_402", "The provider wants to be paid. Add credit there, then save the judge."],
  ["http_403", "The provider forbids this model to the key. Choose another model."],
  ["http_404", "The provider does not know the model. Correct its name."],
  ["http_429", "The provider limits the calls. Judge fewer runs, or ask it for more calls."],
  [
    "no_key",
    "The variable that RUNLEDGER_LLM names for the key is not set. The operator sets it, and " +
    "starts the service again.",
  ],
  ["refusal", "The model refused to answer. Change the rubric, or use another model."],
  ["length", "The answer was cut at the maximum of tokens. Allow more tokens."],
  ["no_content", "The answer had no text. Allow more tokens, or use another model."],
  ["bad_json", `The answer was not the JSON that the judge asks for. ${CLEARER}`],
  ["bad_reasoning", `The answer had no reasoning. ${CLEARER}`],
  ["bad_value", `The value was not on the scale of the judge. ${CLEARER}`],
  ["superseded", "The text of the run changed meanwhile: it is judged again."],
  ["not_closed", "The run has not ended, or its cost is not final yet."],
]);

const BROKEN_SERVER = "Wait, or read its log.";
const OTHER_REQUEST = "Check that it takes chat completions of this model.";

/** Says why there is no result, or no call, and what to do. */
export function reasonText(reason: string): string {
  return REASONS.get(reason) ??
    `The model's server answered with ${reason}. ${
      reason.startsWith("http_5") ? BROKEN_SERVER : OTHER_REQUEST
    }`;
}

/** Consequences of obstacles, after their reasons. */
const CONSEQUENCES: Readonly<Record<Exclude<Obstacle["kind"], "no_connection">, string>> = {
  unpriced: " Until then its runs are skipped.",
  too_dear: " Until then its runs are skipped.",
  budget: " It judges again after midnight UTC.",
  blocked: " The judge tries one call in 10 minutes; saving it unblocks it.",
  disabled: "",
};

/** Says what keeps a judge from calling its model, and what to do. */
export function obstacleText({ settings }: Judge, { kind, reason }: Obstacle): string {
  if (kind !== "no_connection") return reasonText(reason) + CONSEQUENCES[kind];
  return `RUNLEDGER_LLM of this service lacks “${settings.connection}”. The operator adds it ` +
    "and starts the service again, or an admin chooses another connection. Until then its " +
    "runs wait.";
}

/** The label of a result. */
export function labelOf({ state, passed }: Pick<JudgeResult, "state" | "passed">): Label {
  if (state === "done") return passed ? ["passed", "ok"] : ["below", "bad"];
  if (state === "pending") return ["not judged yet", "run"];
  return state === "failed" ? ["failed", "warn"] : ["skipped", "off"];
}

/** Value that a model gave; a dash without one. */
export function valueText({ value }: Pick<JudgeResult, "value">): string {
  return value === null ? "–" : String(value);
}

interface PillProps extends JudgeResult {
  /** Words about what keeps the judge from judging the run; undefined for nothing. */
  readonly obstacle: string | undefined;
}

/** The result of a judge beside the checks of a run; it opens to the model's reasoning. */
export function JudgePill(result: PillProps) {
  const { judge, state, value, reason, reasoning, model, cost, isEstimated, latencyMs, obstacle } =
    result;
  const words = obstacle ?? (reason === null ? undefined : reasonText(reason));
  return (
    <details id={`judge-${judge}`} name="check">
      <summary>
        <LabelSign of={labelOf(result)} isIcon /> {judge}{" "}
        {value !== null && <b>{valueText(result)}</b>}
      </summary>
      <div>
        {reasoning !== null && reasoning !== "" && <p>{reasoning}</p>}
        {reasoning === "" && <p class="quiet">The reasoning was removed by age</p>}
        {words !== undefined && <p>{words}</p>}
        {state === "pending" && obstacle === undefined && (
          <p class="quiet">{reason === null ? "It is judged soon." : "The call is repeated."}</p>
        )}
        <p class="quiet">
          <LabelSign of={labelOf(result)} /> {model} {latencyMs !== null && durationText(latencyMs)}
          {" "}
          <Money of={cost} />
          {isEstimated && " at most"} <a href={judgePath(judge)}>Open the judge</a>
        </p>
      </div>
    </details>
  );
}
