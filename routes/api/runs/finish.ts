/** `POST /v1/runs/{id}/finish` and `POST /v1/runs/{id}/scores`. */
import { z } from "zod";
import type { Handler } from "../../http/admission.ts";
import { parseContext } from "../../http/context.ts";
import type { RunId } from "../../../domain/core/ids.ts";
import { rawOf, writeObject } from "../../../domain/core/raw_json.ts";
import { finishStatus } from "../../../domain/ingest/form.ts";
import { parseFinish } from "../../../domain/ingest/finish.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { parseScore } from "../../../domain/ingest/score.ts";
import type { AddedScore } from "../../../domain/runs/scores.ts";
import type { Closing, Score } from "../../../domain/runs/run.ts";
import { answerWrite, fail } from "../../http/answer.ts";
import { id, instant, object, sentJson, text, wire } from "../../openapi/wire.ts";
import { scoreValue } from "./run_json.ts";
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
  return answerWrite(c, outcome.kind, finishRecord.write({ ...closing, id: id.value }), losses);
};

const scores = wire<readonly Score[]>(
  z.record(z.string(), scoreValue.schema)
    .meta({ id: "Scores", description: "Numbers or booleans by name." }),
  (scores) => writeObject(scores.map(([name, value]) => [name, rawOf(value)])),
);

/** Stored finish, which is the same for the first write and every retry (decision 22). */
export const finishRecord = object<Closing & { readonly id: RunId }>("FinishRecord", {
  id: id("run")("id"),
  status: wire(finishStatus)("status"),
  finished_at: instant("finishedAt"),
  received_at: instant("receivedAt"),
  output: sentJson(
    ({ output }) => output ?? rawOf(null),
    "Any JSON value, as sent; null if none was sent.",
  ),
  scores: scores.orNull("scores"),
});

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
      const json = addedScore.write({ ...outcome.score, run: id.value });
      return answerWrite(c, outcome.kind, json, parsed.value.losses);
    }
    default:
      return outcome satisfies never;
  }
};

/** Response of `POST /v1/runs/{id}/scores`. */
export const addedScore = object<AddedScore & { readonly run: RunId }>("AddedScore", {
  id: id("scr")("id"),
  run_id: id("run")("run"),
  name: text("name"),
  value: scoreValue("value"),
  source: text("source"),
  received_at: instant("receivedAt", "Arrival of the first call."),
});
