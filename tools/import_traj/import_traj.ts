/** `deno task import-traj FILE…`: sends SWE-agent trajectory files to a running server. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { isObject } from "../../domain/core/raw_json.ts";
import { LABEL_CHARS_MAX } from "../../domain/core/limits.ts";
import { parseInstant } from "../../domain/core/time.ts";
import {
  type Client,
  type ClientCall,
  type ClientJson,
  CONNECTION_HELP,
  CONNECTION_OPTIONS,
  connectionOf,
  createClient,
  Refused,
  Tally,
} from "../client.ts";
import {
  createProgress,
  type Io,
  processIo,
  runCommand,
  ToolFailure,
  UsageError,
} from "../command.ts";
import { planImport, runIdOf, type RunPlan, trajectoryDuration } from "./trajectory.ts";
import { parseTrajectory, splitModel, type Trajectory, UNKNOWN_MODEL } from "./trajectory_file.ts";

const HELP = [
  "deno task import-traj [--url URL] [--key KEY] [--agent SLUG] [--model [PROVIDER/]NAME] FILE…",
  "Sends SWE-agent trajectory files (.traj) as runs. Sending a file again changes nothing: ids are",
  "derived from its content. The file has no timestamps; its date becomes the end of the run.",
  ...CONNECTION_HELP,
  "  --agent SLUG  the agent of the runs (default swe-agent)",
  "  --model NAME  the model, such as openai/gpt-4o: many files do not name it, and without a model",
  "                nothing is priced. Another model creates another run.",
];

/** Maximum bytes of a file; real ones have a few hundred kilobytes. */
const FILE_BYTES_MAX = 134_217_728;

/** A parsed trajectory file. */
interface Source {
  readonly name: string;
  /** SHA-256 of the file and of the model option. */
  readonly digest: string;
  /** Date of the file, unix milliseconds. */
  readonly dateMs: number;
  readonly trajectory: Trajectory;
}

/** A trajectory file with its requests and the server's answers. */
interface Import extends Source {
  readonly plan: RunPlan;
  readonly tally: Tally;
}

/** Runs the command; returns its exit code. */
export function importTraj(args: readonly string[], io: Io): Promise<number> {
  const options = {
    ...CONNECTION_OPTIONS,
    agent: { type: "string", default: "swe-agent" },
    model: { type: "string" },
  } as const;
  const config = { args: [...args], options, allowPositionals: true as const };
  return runCommand(io, HELP, config, async ({ values, positionals }) => {
    if (positionals.length === 0) {
      throw new UsageError("Name at least one .traj file: deno task import-traj FILE…");
    }
    using client = createClient(connectionOf(values));
    // All files must be readable before anything is sent.
    const model = values.model === undefined ? null : modelNamed(values.model);
    const sources = await Promise.all(positionals.map((path) => readSource(path, model)));
    const imports: Import[] = [];
    for (const source of sources) {
      // Copies of a file are one run, which ends at the date of the first.
      const { dateMs } = sources.find(({ digest }) => digest === source.digest) ?? source;
      imports.push(await planned(client, { ...source, dateMs }, values.agent));
    }
    await sendAll(client, imports, io);
    const reports = await Promise.all(imports.map((file) => report(client, file)));
    reports.flatMap(({ lines }) => lines).forEach((line) => io.out(line));
    io.out(
      `All runs: ${client.url}/dashboard/runs?${new URLSearchParams({ agent: values.agent })}`,
    );
    const wrong = reports.filter(({ agrees }) => !agrees).length;
    if (wrong > 0) {
      throw new ToolFailure(`The ledger's totals differ from ${wrong} of the files: see above`);
    }
    return 0;
  });
}

function modelNamed(text: string): Trajectory["model"] {
  const model = splitModel(text);
  if ([model.model, model.provider ?? ""].some((name) => name.length > LABEL_CHARS_MAX)) {
    throw new UsageError(`--model may have at most ${LABEL_CHARS_MAX} characters a name`);
  }
  if (model.model !== "") return model;
  throw new UsageError("--model must be such as openai/gpt-4o or gpt-4o");
}

/**
 * Reads a file.
 *
 * @param model replaces the model that the file names; null for no replacement
 */
async function readSource(path: string, model: Trajectory["model"] | null): Promise<Source> {
  let bytes: Uint8Array<ArrayBuffer>;
  let stat: Deno.FileInfo;
  try {
    stat = await Deno.stat(path);
    if (stat.size > FILE_BYTES_MAX) {
      throw new ToolFailure(`${path} is larger than ${FILE_BYTES_MAX} bytes: split its steps`);
    }
    bytes = await Deno.readFile(path);
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    const detail = error instanceof Error ? error.message : String(error);
    throw new ToolFailure(`Cannot read ${path}: ${detail}`);
  }
  const trajectory = parseTrajectory(new TextDecoder().decode(bytes));
  if (trajectory === null) {
    throw new ToolFailure(`${path} is not a SWE-agent trajectory: it has no array "trajectory"`);
  }
  const digest = createHash("sha256").update(bytes);
  if (model !== null) digest.update(JSON.stringify(model));
  return {
    name: basename(path),
    digest: digest.digest("hex"),
    dateMs: stat.mtime?.getTime() ?? 0,
    trajectory: model === null ? trajectory : { ...trajectory, model },
  };
}

/**
 * Plans an import. SWE-agent last writes the file at the end of the run. A copy of a file that is
 * already imported may have another date, and the ledger refuses another start for the same id:
 * then the stored start is used.
 */
async function planned(client: Client, source: Source, agent: string): Promise<Import> {
  const { name: fileName, digest, dateMs, trajectory } = source;
  const identity = { agent, region: client.region, digest };
  const stored = await readRun(client, runIdOf(identity)).catch((error) => {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  });
  const startMs = parseInstant(String(stored?.started_at)) ??
    Math.max(0, Math.trunc(dateMs) - trajectoryDuration(trajectory));
  const plan = planImport(trajectory, identity, { fileName, startMs });
  return { ...source, plan, tally: new Tally() };
}

async function readRun(client: Client, id: string): Promise<ClientJson> {
  return (await client.get(`/v1/runs/${id}?events_limit=1`)).body;
}

async function sendAll(client: Client, imports: readonly Import[], io: Io): Promise<void> {
  const calls = imports.flatMap(({ plan, tally }) =>
    callsOf(plan).map((call) => ({ call, tally }))
  );
  using progress = createProgress(io.screen, "requests", calls.length);
  for (const { call, tally } of calls) {
    await tally.send(client, call);
    progress.step();
  }
}

function callsOf({ id, open, batches, finish }: RunPlan): ClientCall[] {
  return [
    { path: "/v1/runs", body: open },
    ...batches.map((events) => ({ path: `/v1/runs/${id}/events`, body: { events } })),
    { path: `/v1/runs/${id}/finish`, body: finish },
  ];
}

/** Reads a run and compares its numbers with the file's. */
async function report(
  client: Client,
  { name, trajectory, plan, tally }: Import,
): Promise<{ lines: string[]; agrees: boolean }> {
  const run = await readRun(client, plan.id);
  const usage = isObject(run.usage) ? run.usage : {};
  const { tokens, apiCalls, instanceCost, steps } = trajectory;
  const events = plan.batches.flat().length;
  const row = (what: string, ledger: unknown, file: unknown) =>
    `  ${what.padEnd(15)}${String(ledger).padEnd(12)}${file ?? "not in the file"}`;
  const agrees = usage.events === events &&
    (tokens === null ||
      usage.input_tokens === tokens.sent && usage.output_tokens === tokens.received);
  const { accepted, duplicates, replays } = tally;
  const alreadyStored = accepted === 0 && replays === 2;
  const lines = [
    `${name}: ${run.status}, ${alreadyStored ? "already stored" : "stored"}`,
    `  ${plan.id}`,
    row("", "ledger", "file"),
    row("events", usage.events, `${events} from ${steps.length} steps`),
    row("model calls", usage.llm_calls, apiCalls),
    row("input tokens", usage.input_tokens, tokens?.sent),
    row("output tokens", usage.output_tokens, tokens?.received),
    row("cost", `$${run.cost_usd}`, instanceCost === null ? null : `$${instanceCost}`) +
    unpriced(run),
    `  sent now: ${accepted} events stored, ${duplicates} duplicates`,
    `  ${client.url}/dashboard/runs/${plan.id}`,
    `  ${client.curl(`/v1/runs/${plan.id}`)}`,
  ];
  return { lines, agrees };
}

function unpriced(run: ClientJson): string {
  const models = isObject(run.cost) ? run.cost.unpriced_models : null;
  const named = Array.isArray(models) && models.length > 0 ? models.join(", ") : null;
  if (named === UNKNOWN_MODEL) return " (the file names no model: use --model)";
  return named === null ? "" : ` (no price for: ${named})`;
}

if (import.meta.main) Deno.exit(await importTraj(Deno.args, processIo()));
