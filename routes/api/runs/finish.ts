/** `POST /v1/runs/{id}/finish` and `POST /v1/runs/{id}/scores`. */
import type { Handler } from "../../http/admission.ts";
import { parseContext } from "../../http/context.ts";
import { type RawJson, rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { parseFinish } from "../../../domain/ingest/finish.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { parseScore } from "../../../domain/ingest/score.ts";
import type { Closing } from "../../../domain/runs/run.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answerWrite, fail } from "../../http/answer.ts";
import { conflictProblem } from "./runs.ts";

export const finishRun: Handler = async (c, { runs, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const parsed = parseFinish(c.get("body"), parseContext(c));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { request, losses } = parsed.value;
  const { team } = c.get("principal");
  const outcome = await runs.finish(team, id.value, request, environment.now());
  if (outcome.kind === "conflict") return fail(c, conflictProblem(id.value, outcome));
  const { closing } = outcome.parts;
  // A finish is always closed, whether stored or replayed.
  if (closing === null) throw new TypeError("A finished run has no close");
  return answerWrite(c, outcome.kind, finishJson(id.value, closing), losses);
};

/** Writes the stored finish record, which is the same for the first write and every retry (decision 22). */
function finishJson(id: string, closing: Closing): RawJson {
  const { scores } = closing;
  return writeObject([
    ["id", rawOf(id)],
    ["status", rawOf(closing.status)],
    ["finished_at", rawOf(formatInstant(closing.finishedAt))],
    ["received_at", rawOf(formatInstant(closing.receivedAt))],
    ["output", closing.output ?? "null"],
    ["scores", scores ? writeObject(scores.map(([name, value]) => [name, rawOf(value)])) : "null"],
  ]);
}

export const addScore: Handler = async (c, { scores, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const parsed = parseScore(c.get("body"));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { team } = c.get("principal");
  const outcome = await scores.add(team, id.value, parsed.value.request, environment.now());
  switch (outcome.kind) {
    case "refused":
      return fail(c, outcome.problem);
    case "conflict":
      return fail(c, conflictProblem(id.value, outcome));
    case "differs": {
      const { field } = outcome;
      const message = `Score ${parsed.value.request.id} is stored with another "${field}": ` +
        "use a new id for a new score";
      return fail(c, { code: "id_conflict", message, field });
    }
    case "stored":
    case "replayed": {
      const { name, value, source, receivedAt } = outcome.score;
      const json = rawOf({
        id: parsed.value.request.id,
        run_id: id.value,
        name,
        value,
        source,
        received_at: formatInstant(receivedAt),
      });
      return answerWrite(c, outcome.kind, json, parsed.value.losses);
    }
    default:
      return outcome satisfies never;
  }
};
