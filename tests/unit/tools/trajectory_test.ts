import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { judgeId } from "../../../domain/core/ids.ts";
import {
  EVENT_BYTES_MAX,
  EVENTS_PER_BATCH_MAX,
  OUTPUT_BYTES_MAX,
  WHOLE_BODY_BYTES_MAX,
} from "../../../domain/core/limits.ts";
import {
  planImport,
  type RunPlan,
  trajectoryDuration,
  trajectoryStatus,
} from "../../../tools/import_traj/trajectory.ts";
import { parseTrajectory, type Trajectory } from "../../../tools/import_traj/trajectory_file.ts";
import { jsonBytes } from "../../../tools/wire.ts";
import { NOON } from "../../support/harness/harness.ts";
import { aStep, aTrajectory } from "../../support/harness/tools.ts";

function parsed(fields: Record<string, unknown> = {}): Trajectory {
  const trajectory = parseTrajectory(aTrajectory(fields));
  if (trajectory === null) throw new RangeError("The test's file is no trajectory");
  return trajectory;
}

const IDENTITY = { agent: "swe-agent", region: "eu", digest: "d1" } as const;

function plan(trajectory: Trajectory, identity = IDENTITY as typeof IDENTITY, startMs = NOON) {
  return planImport(trajectory, identity, { fileName: "issue-7.traj", startMs });
}

function eventsOf({ batches }: RunPlan) {
  return batches.flat();
}

Deno.test("each step is a model call, a tool call and an observation of one turn, in order", () => {
  const events = eventsOf(plan(parsed()));
  assertEquals(events.map(({ type, turn }) => [type, turn]), [
    ["llm_call", 1],
    ["tool_call", 1],
    ["observation", 1],
    ["llm_call", 2],
    ["tool_call", 2],
    ["observation", 2],
  ]);
  assertEquals(events[0]?.data.text, "text 1");
  assertEquals(events[1]?.data, { name: "cat", action: "cat file_1.txt\n", latency_ms: 250 });
  assertEquals(events[2]?.data, { output: "content 1" });
  // Without execution_time in the file there is no latency.
  assertEquals("latency_ms" in (events[4]?.data ?? {}), false);
  const times = events.map(({ ts }) => ts);
  assertEquals(new Set(times).size, times.length);
  assertEquals(times, [...times].sort());
});

Deno.test("the file's token totals are only on the last model call, marked as the run's", () => {
  const calls = eventsOf(plan(parsed())).filter(({ type }) => type === "llm_call");
  assertEquals(calls.map(({ data }) => data.input_tokens), [undefined, 4_321]);
  assertEquals(calls.map(({ data }) => data.output_tokens), [undefined, 87]);
  assertEquals(calls.map(({ data }) => data.tokens_of), [undefined, "run"]);
  const silent = eventsOf(plan(parsed({ info: { exit_status: "submitted" } })));
  assertEquals(silent.filter(({ data }) => "input_tokens" in data || "tokens_of" in data), []);
});

Deno.test("tokens of a run without steps are not lost", () => {
  const [only, ...more] = eventsOf(plan(parsed({ trajectory: [] })));
  assertEquals([only?.type, only?.data.input_tokens, more], ["llm_call", 4_321, []]);
  assertEquals(plan(parsed({ trajectory: [], info: {} })).batches, []);
});

Deno.test("a step without an action has no tool call, one without output has an observation", () => {
  const trajectory = [
    aStep(1, { action: "", observation: "" }),
    aStep(2, { action: " \n", observation: "Exited" }),
    aStep(3, { observation: "" }),
  ];
  assertEquals(
    eventsOf(plan(parsed({ trajectory }))).map(({ type, turn }) => `${turn} ${type}`),
    ["1 llm_call", "2 llm_call", "2 observation", "3 llm_call", "3 tool_call", "3 observation"],
  );
});

Deno.test("ids depend only on content, agent and region", () => {
  const first = plan(parsed());
  const later = planImport(parsed(), IDENTITY, { fileName: "copy.traj", startMs: NOON + 1 });
  const ids = (of: RunPlan) => [of.id, ...eventsOf(of).map(({ id }) => id)];
  assertEquals(ids(later), ids(first));
  assertEquals(judgeId("run", first.id), "valid");
  assert(eventsOf(first).every(({ id }) => judgeId("evt", id) === "valid"));
  assertEquals(new Set(ids(first)).size, 7);
  for (const other of [{ digest: "d2" }, { agent: "other" }, { region: "us" }]) {
    const identity = { ...IDENTITY, ...other } as typeof IDENTITY;
    assertNotEquals(plan(parsed(), identity).id, first.id);
  }
});

Deno.test("a run ends after all its execution times plus a millisecond between events", () => {
  const trajectory = parsed();
  const { open, finish } = plan(trajectory);
  assertEquals(trajectoryDuration(trajectory), 250 + 2 + 1 + 2);
  assertEquals(open.started_at, new Date(NOON).toISOString());
  assertEquals(finish.finished_at, new Date(NOON + 255).toISOString());
});

Deno.test("decision 28: exit_status is mapped to the status words of finish", () => {
  const expected = {
    submitted: "success",
    "submitted (exit_cost)": "failed",
    "submitted (exit_command_timeout)": "timeout",
    "submitted (exit_total_execution_time)": "timeout",
    exit_cost: "failed",
    exit_context: "failed",
    exit_format: "failed",
    exit_error: "failed",
    exit_forfeit: "failed",
    exit_command: "failed",
    exit_command_timeout: "timeout",
    exit_total_execution_time: "timeout",
    skipped: "cancelled",
  };
  const reported = Object.keys(expected).map((status) => [status, trajectoryStatus(status)]);
  assertEquals(Object.fromEntries(reported), expected);
  assertEquals(trajectoryStatus(null), "cancelled");
  assertEquals(plan(parsed({ info: { exit_status: null } })).finish.status, "cancelled");
});

Deno.test("the output is submission, exit_status and model_stats; the cost is an additional label", () => {
  const { open, finish } = plan(parsed());
  assertEquals(finish.output, {
    submission: "diff --git a/x b/x",
    exit_status: "submitted",
    model_stats: { instance_cost: 0.75, tokens_sent: 4_321, tokens_received: 87, api_calls: 2 },
  });
  const metadata = open.metadata as Record<string, unknown>;
  assertEquals([metadata.instance_cost, metadata.file], [0.75, "issue-7.traj"]);
  assertEquals("cost_usd" in finish || "cost_usd" in open, false);
});

Deno.test("the model is the one the file names, with its provider if given, else unknown", () => {
  const config = (name: string) => ({ agent: { model: { name } } });
  const modelIn = (fields: Record<string, unknown>) => parsed(fields).model;
  assertEquals(modelIn({}), { model: "unknown" });
  assertEquals(modelIn({ replay_config: config("gpt-4o") }), { model: "gpt-4o" });
  const text = JSON.stringify(config("anthropic/claude-3"));
  assertEquals(modelIn({ replay_config: text }), { provider: "anthropic", model: "claude-3" });
  assertEquals(modelIn({ info: { model: "o1" } }), { model: "o1" });
  assertEquals(modelIn({ history: [{ role: "user" }, { model: "o3" }] }), { model: "o3" });
  assertEquals(modelIn({ replay_config: "{ broken", history: 5 }), { model: "unknown" });
  const called = eventsOf(plan(parsed({ replay_config: text })))[0]?.data;
  assertEquals([called?.provider, called?.model], ["anthropic", "claude-3"]);
});

Deno.test("the issue the agent worked on is the run's goal, cut to the limit of a goal", () => {
  const goalOf = (text: string) =>
    plan(parsed({ replay_config: { problem_statement: { text } } })).open.goal;
  assertEquals(goalOf("Fix it"), "Fix it");
  assertEquals(goalOf("😀".repeat(20_000)), "😀".repeat(8_192));
  assertEquals("goal" in plan(parsed()).open, false);
});

Deno.test("decision 11: a long observation is cut to fit, marked as cut, and never splits a character", () => {
  for (const letter of ["a", "é", "😀", "\u0001", '"']) {
    const observation = letter.repeat(400_000);
    const [, , event, ...rest] = eventsOf(
      plan(parsed({ trajectory: [aStep(1, { observation })] })),
    );
    const bytes = jsonBytes(event);
    assert(bytes <= EVENT_BYTES_MAX && bytes > EVENT_BYTES_MAX * 0.9, `${letter}: ${bytes}`);
    const { output, shortened } = event?.data as { output: string; shortened: unknown };
    assertEquals(shortened, {
      field: "output",
      from_chars: observation.length,
      to_chars: output.length,
    });
    assert(output.isWellFormed() && observation.startsWith(output));
    assertEquals(rest, []);
  }
});

Deno.test("decision 11: a long model text, action or submission is cut as well", () => {
  const long = "x".repeat(700_000);
  const trajectory = [aStep(1, { response: long, action: `python -c ${long}` })];
  const info = { exit_status: "submitted", submission: long };
  const { batches, finish } = plan(parsed({ trajectory, info }));
  const [call, tool] = batches.flat();
  assert(jsonBytes(call) <= EVENT_BYTES_MAX && jsonBytes(tool) <= EVENT_BYTES_MAX);
  assertEquals((call?.data.shortened as { field: string }).field, "text");
  assertEquals((tool?.data.shortened as { field: string }).field, "action");
  assert(jsonBytes(finish.output) <= OUTPUT_BYTES_MAX);
  const output = finish.output as { submission: string; shortened: { from_chars: number } };
  assertEquals(output.shortened.from_chars, 700_000);
  assert(output.submission.length > 500_000);
});

Deno.test("contract 14: batches hold at most 50 events and fit into a body", () => {
  const short = plan(parsed({ trajectory: Array.from({ length: 40 }, (_, n) => aStep(n)) }));
  assertEquals(short.batches.map((batch) => batch.length), [50, 50, 20]);
  const observation = "é".repeat(100_000);
  const trajectory = Array.from({ length: 12 }, (_, n) => aStep(n, { observation }));
  const { batches } = plan(parsed({ trajectory }));
  const sizes = batches.map((events) => jsonBytes({ events }));
  assert(sizes.every((bytes) => bytes <= WHOLE_BODY_BYTES_MAX));
  assert(batches.every((batch) => batch.length <= EVENTS_PER_BATCH_MAX));
  assertEquals(batches.flat().length, 36);
  // Five observations of 200 kB fit, a sixth does not.
  assertEquals(batches.length, 3);
});

Deno.test("a file that is not a trajectory is refused, and odd parts of one are left out", () => {
  for (const text of ["", "{", "[]", "null", "{}", '{"trajectory":{}}', '{"trajectory":[1]}']) {
    assertEquals(parseTrajectory(text), null, text);
  }
  const odd = parsed({
    environment: 5,
    trajectory: [{ response: null, thought: "t", action: 7, execution_time: -1 }],
    info: { exit_status: 3, model_stats: { tokens_sent: 1.5, tokens_received: 9 } },
  });
  const none = { observation: "", action: "", executionMs: null };
  assertEquals(odd.steps, [{ response: "t", ...none }]);
  assertEquals([odd.exitStatus, odd.environment, odd.tokens], [null, null, {
    sent: 0,
    received: 9,
  }]);
});
