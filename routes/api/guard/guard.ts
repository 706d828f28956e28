/** `POST` and `GET /v1/guard/check`: may a run start? (G4, G8) */
import { z } from "zod";
import { blockersOf, blockText, decisionOf } from "../../../domain/budgets/verdict.ts";
import { guardCheckBody, type GuardSubject } from "../../../domain/budgets/budget.ts";
import type { Body } from "../../../domain/core/body.ts";
import { refuse, StorageUnavailable } from "../../../domain/core/errors.ts";
import { uuid7Hex } from "../../../domain/core/ids.ts";
import type { RawJson } from "../../../domain/core/raw_json.ts";
import { Query } from "../../../domain/core/query.ts";
import { check } from "../../../domain/core/validate.ts";
import { agentRefusalOf } from "../../../domain/teams/credentials.ts";
import type { CheckedGuard } from "../../../kv/budgets/guard.ts";
import { KEY_OR_TOKEN, teamKey } from "../../http/access.ts";
import { answerText, fail } from "../../http/answer.ts";
import type { AppDeps, RequestContext } from "../../http/context.ts";
import { queryOf } from "../../http/query.ts";
import { recordRefusal } from "../../http/refusal_notes.ts";
import { answered, endpoints, ok, textBody } from "../../openapi/describe.ts";
import { slug } from "../../openapi/fields.ts";
import * as shape from "../../openapi/wire.ts";
import { guardRule } from "../budgets/wire.ts";

interface CheckAnswer {
  readonly guard: CheckedGuard;
  /** Identifier of a check that blocks; null for others. */
  readonly id: string | null;
}

const rules = shape.list(guardRule)(
  ({ guard: { pauses, budgets } }: CheckAnswer) => [
    ...pauses.map((pause) => ({ pause })),
    ...budgets.map((verdict) => ({ verdict })),
  ],
  "Pauses, then budgets in whose scope the run is, the worst first.",
);

/** Texts of rules. The guard has one verdict for all questions until a spend is read again. */
const textsOfRules = new WeakMap<CheckedGuard["budgets"], RawJson | undefined>();

function writeRules(answer: CheckAnswer): RawJson | undefined {
  const { budgets } = answer.guard;
  const text = textsOfRules.get(budgets) ?? rules.write(answer);
  textsOfRules.set(budgets, text);
  return text;
}

const checkValue = shape.object<CheckAnswer>("GuardCheck", {
  decision: shape.oneOf("GuardDecision", ["allow", "block"])(({ id }) =>
    id === null ? "allow" : "block"
  ),
  checked_at: shape.instant(({ guard }) => guard.atMs),
  blocked_by: shape.list(shape.text)(({ guard }) => blockersOf(guard), "Ids of rules."),
  guard_check_id: shape.id("gck").orNull("id", "Null for an `allow`."),
  stale_as_of: shape.instant(
    ({ guard }) => guard.asOfMs,
    "Everything that was acknowledged before is in the spend.",
  ),
  active: shape.boolean(() => true, "Always true."),
  inactive_reason: shape.text.orNull(() => null, "Always null."),
  rules: { schema: rules.schema, write: writeRules },
});

/** Judges a run by what the store says within the deadline. */
function judge({ guard, guardDeadlines }: AppDeps, c: RequestContext, subject: GuardSubject) {
  const checked = guard.check(c.get("principal").team.id, subject);
  return guardDeadlines.within(checked, () => {
    throw new StorageUnavailable("The store did not answer in time");
  });
}

/** Answers with a verdict. As bytes it need not wait for a turn, as texts of an unknown size do. */
function answerCheck(c: RequestContext, check: CheckAnswer): Response {
  const bytes = encoder.encode(`${checkValue.write(check)}\n`);
  return answerText(c, 200, bytes, "application/json");
}

const encoder = new TextEncoder();

/** Fields of runs by the names that they have here: ignored, they would allow what is blocked. */
const OTHER_NAMES = [["customer_id", "customer_ref"], ["feature", "function"]] as const;

export const GUARD_ENDPOINTS = endpoints("Guard", {
  checkGuard: {
    route: "POST /v1/guard/check",
    access: teamKey("ingest"),
    bucket: "guard",
    mayLackBody: true,
    mayBeList: true,
    servesUnderOverload: true,
    handler: async (c, deps) => {
      const { value }: Body = c.get("body");
      for (const [field, name] of OTHER_NAMES) {
        if (value[field] === undefined) continue;
        refuse("invalid_field", `Field "${field}" is "${name}" in this call: rename it`, field);
      }
      const sent = check(guardCheckBody, value);
      const { agent = null, customer_ref = null, function: feature = null } = sent;
      const guard = await judge(deps, c, { agent, customer: customer_ref, feature });
      if (decisionOf(guard) !== "block") return answerCheck(c, { guard, id: null });
      const { environment, region } = deps;
      const id = `gck_${region}_${uuid7Hex(guard.atMs, environment.random(10))}`;
      recordRefusal(deps, c, 200, { code: "guard_blocked", message: blockText(guard, null) });
      return answerCheck(c, { guard, id });
    },
    summary: "Ask whether a run may start",
    description: "Judges a run that has these labels by the team's pauses and budgets, with the " +
      "spend of at most a second ago. Budgets of the period `run` are not judged: they begin with " +
      "the run. Has a rate limit of its own, as large as that of ingest, and answers while ingest " +
      "is refused. An empty body and `[]` count as `{}`. Unknown fields are ignored, but the names that runs have " +
      "for these labels, `customer_id` and `feature`, are refused.",
    body: guardCheckBody.meta({ id: "GuardCheckRequest" }),
    answers: ok("The verdict, whether it allows or blocks.", checkValue),
    idempotency: "none",
  },
  checkGuardInShell: {
    route: "GET /v1/guard/check",
    access: KEY_OR_TOKEN,
    bucket: "guard",
    servesUnderOverload: true,
    handler: async (c, deps) => {
      const principal = c.get("principal");
      const parameters = new Query(queryOf(c));
      const query = {
        agent: parameters.text("agent"),
        customer_ref: parameters.text("customer_ref"),
        function: parameters.text("function"),
      };
      const refused = agentRefusalOf(principal, query.agent);
      if (refused !== null) return fail(c, refused);
      const parsed = check(guardCheckBody, query);
      const { grant } = principal;
      const own = grant.kind === "ping_token" ? grant.agent : null;
      const { agent = own, customer_ref = null, function: feature = null } = parsed;
      const guard = await judge(deps, c, { agent, customer: customer_ref, feature });
      const headers = { "Cache-Control": "no-store" };
      if (decisionOf(guard) !== "block") return answerText(c, 200, "allow\n", undefined, headers);
      const message = blockText(guard, own);
      c.set("problem", { code: "guard_blocked", message });
      const blocked = { ...headers, "X-Error-Code": "guard_blocked" };
      return answerText(c, 423, `block ${message}\n`, undefined, blocked);
    },
    summary: "Ask in a shell whether a run may start",
    description: "As `POST /v1/guard/check`: `curl -f` ends with an error if the answer is 423, " +
      "whose text is `block`, the slug of the pause or budget, and why. A ping token asks for its " +
      "own agent, and sees the spend only of budgets of that agent.",
    query: {
      agent: slug().optional().describe("The run's agent; a ping token has one."),
      customer_ref: z.string().optional().describe("The run's `customer_id`."),
      function: z.string().optional().describe("The run's `feature`."),
    },
    answers: [answered(200, "The run may start.", textBody("text/plain"), "Cache-Control")],
    errors: ["guard_blocked"],
  },
});
