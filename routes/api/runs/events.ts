/** `POST /v1/runs/{id}/events`. */
import type { Handler } from "../../http/admission.ts";
import { parseRunId } from "../../../domain/ingest/parse.ts";
import { parseCutEvents, parseEvents } from "../../../domain/ingest/parse_events.ts";
import { Losses } from "../../../domain/core/losses.ts";
import { answerWrite, fail } from "../../http/answer.ts";
import { inTurns } from "../../http/in_turns.ts";
import { count, object } from "../../openapi/wire.ts";
import { conflictProblem } from "./runs.ts";

export const appendEvents: Handler = async (c, { runs, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const body = c.get("body");
  const parsed = body.events === undefined
    ? parseEvents(body)
    : await inTurns(parseCutEvents(body, body.events));
  if (!parsed.ok) return fail(c, parsed.problem);
  const { request, losses } = parsed.value;
  const { team } = c.get("principal");
  const outcome = await runs.append(team, id.value, request, environment.now());
  if (outcome.kind === "conflict") return fail(c, conflictProblem(id.value, outcome));
  const { accepted, duplicates, scoresDropped = 0 } = outcome;
  const all = scoresDropped === 0 ? losses : losses ?? new Losses();
  all?.remove("scores", scoresDropped);
  return answerWrite(c, "stored", batchReceipt.write({ accepted, duplicates }), all);
};

/** Response of `POST /v1/runs/{id}/events`. */
export const batchReceipt = object<{ readonly accepted: number; readonly duplicates: number }>(
  "BatchReceipt",
  {
    accepted: count("accepted", "New events that were stored."),
    duplicates: count(
      "duplicates",
      "Events that were already stored or occurred twice in the batch.",
    ),
  },
);
