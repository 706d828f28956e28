/** `POST /v1/runs/{id}/scores`. */
import type { Handler } from "../../http/admission.ts";
import { rawOf } from "../../../domain/core/raw_json.ts";
import { parseRunId, parseScore } from "../../../domain/ingest/parse.ts";
import { formatInstant } from "../../../domain/core/time.ts";
import { answerWrite, fail } from "../../http/answer.ts";
import { conflictProblem } from "./runs.ts";

export const addScore: Handler = async (c, { scores, environment }) => {
  const id = parseRunId(c.req.param("id") ?? "");
  if (!id.ok) return fail(c, id.problem);
  const sent = parseScore(c.get("body"));
  if (!sent.ok) return fail(c, sent.problem);
  const { team } = c.get("principal");
  const outcome = await scores.add(team, id.value, sent.value.request, environment.now());
  switch (outcome.kind) {
    case "refused":
      return fail(c, outcome.problem);
    case "conflict":
      return fail(c, conflictProblem(id.value, outcome));
    case "differs": {
      const { field } = outcome;
      const message = `Score ${sent.value.request.id} is stored with another "${field}": ` +
        "use a new id for a new score";
      return fail(c, { code: "id_conflict", message, field });
    }
    case "stored":
    case "replayed": {
      const { name, value, source, receivedAt } = outcome.score;
      const json = rawOf({
        id: sent.value.request.id,
        run_id: id.value,
        name,
        value,
        source,
        received_at: formatInstant(receivedAt),
      });
      return answerWrite(c, outcome.kind, json, sent.value.losses);
    }
    default:
      return outcome satisfies never;
  }
};
