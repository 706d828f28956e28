/**
 * Tests the files of `ops/`: the image's commands in a plain folder that has only what the image
 * copies, the image itself where a container engine answers, and each file by the program that reads
 * it, where it is installed.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SETTING_NAMES } from "../../../app/config.ts";
import { isInstalled } from "../../support/harness/commands.ts";
import { Output } from "../../support/harness/output.ts";
import { Process } from "../../support/harness/process.ts";
import { aHeartbeat } from "../../support/builders/requests.ts";
import { inFolder } from "../../support/harness/temp_store.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const KEY = `apk_eu_${"5e".repeat(16)}`;
/** The image's only folder that the service may read and write. */
const DATA = "/data";

function read(path: string): string {
  return Deno.readTextFileSync(ROOT + path);
}

/** Returns the arguments of each instruction of a kind in the Dockerfile. */
function instructions(name: string): string[] {
  const lines = read("ops/Dockerfile").replaceAll("\\\n", "").split("\n");
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) =>
    line.slice(name.length + 1)
  );
}

function command(name: string): string[] {
  return JSON.parse(instructions(name)[0]?.replace(/^.*?CMD /, "") ?? "[]");
}

/** Runs a command in a folder; returns its exit code and its errors. */
async function run([program = "", ...args]: string[], cwd: string, env: Record<string, string>) {
  const options = { args, cwd, env, stdin: "null", stdout: "null" } as const;
  const { code, stderr } = await new Deno.Command(program, options).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

Deno.test("container: the image runs the task's command, with one folder to read and write", () => {
  const { command: task } = JSON.parse(read("deno.json")).tasks.start;
  const narrowed = task
    .replace(" --frozen", " --cached-only --frozen")
    .replace(" -R ", ` -R=${DATA} `)
    .replace(" -W ", ` -W=${DATA} `);
  assertEquals(command("CMD").join(" "), narrowed);
});

inFolder.test("container: the copied files build, serve, are healthy, and end with 0 on SIGTERM", async (folder) => {
  const here = (text: string) => text.replaceAll(DATA, `${folder}/data`);
  await Deno.mkdir(`${folder}/app`);
  for (const line of instructions("COPY")) {
    const [to = "", ...from] = line.split(" ").reverse();
    const target = `${folder}/app/${to}`;
    for (const path of from) {
      assertEquals((await run(["cp", "-r", path, target], ROOT, {})).code, 0);
    }
  }
  await Deno.mkdir(`${folder}/bin`);
  await Deno.symlink(Deno.execPath(), `${folder}/bin/deno`);
  const env = { PATH: `${folder}/bin:${Deno.env.get("PATH")}` };
  for (const line of instructions("RUN")) {
    // The users of the image are unknown here.
    const built = here(line).replace("-o deno -g deno ", "");
    const { code, stderr } = await run(["sh", "-c", built], `${folder}/app`, env);
    assertEquals(code, 0, stderr);
  }
  const variables = Object.fromEntries(
    instructions("ENV").flatMap((line) => here(line).split(" ")).map((pair) => pair.split("=")),
  );
  const quoted = command("CMD").map((word) => `'${here(word)}'`).join(" ");
  const launcher = ["sh", "-c", `cd ${folder}/app && exec ${quoted}`];
  await using process = await Process.startBy(launcher, {
    ...env,
    ...variables,
    RUNLEDGER_KEY: KEY,
  });
  assertStringIncludes(process.stderr, "without TLS");
  const { port } = new URL(process.url);
  const health = () => run(command("HEALTHCHECK"), `${folder}/app`, { ...env, PORT: port });
  assertEquals((await health()).code, 0);
  const response = await fetch(`http://127.0.0.1:${port}/v1/heartbeats`, {
    method: "POST",
    headers: { Authorization: `Bearer ${KEY}` },
    body: JSON.stringify(aHeartbeat(1)),
  });
  await response.body?.cancel();
  assertEquals(response.status, 202);
  assertEquals((await process.stop("SIGTERM")).code, 0);
  assert((await Deno.stat(`${folder}/data/ledger.kv`)).size > 0);
  assertEquals((await health()).code, 1);
});

/** Returns the container engine of this machine; null if none answers. */
async function findEngine(): Promise<string | null> {
  for (const program of ["docker", "podman"]) {
    if (isInstalled(program) && (await run([program, "ps"], ROOT, {})).code === 0) return program;
  }
  return null;
}

const engine = await findEngine();

Deno.test({
  name: `container: the image builds, serves, is healthy, and ends with 0 on SIGTERM${
    engine === null ? " (skipped: no container engine)" : ""
  }`,
  ignore: engine === null,
  async fn() {
    const call = async (...args: string[]) => {
      const { code, stdout, stderr } = await new Deno.Command(engine ?? "", { args }).output();
      const [out, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
      assertEquals(code, 0, errors);
      return out ?? "";
    };
    const image = `runledger-test-${crypto.randomUUID()}`;
    await call("build", "--file", `${ROOT}ops/Dockerfile`, "--tag", image, ROOT);
    try {
      // As compose.yaml starts it.
      const limits = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"];
      const key = `RUNLEDGER_KEY=${KEY}`;
      const id = await call("run", "--detach", "--name", image, ...limits, "--env", key, image);
      const args = ["logs", "--follow", id];
      const following = { args, stdout: "null", stderr: "piped" } as const;
      const logs = new Deno.Command(engine ?? "", following).spawn();
      const output = new Output(logs.stderr);
      assert(await output.match(/ listens on /), output.text);
      await call("exec", id, ...command("HEALTHCHECK"));
      await call("stop", id);
      assertEquals(await call("inspect", "--format", "{{.State.ExitCode}}", id), "0");
      await Promise.all([logs.status, output.done]);
    } finally {
      await call("rm", "--force", "--volumes", image);
      await call("rmi", image);
    }
  },
});

Deno.test("container: compose passes each setting on", () => {
  const compose = read("ops/compose.yaml");
  const ownOfTheImage = ["HOST", "PORT", "RUNLEDGER_KV"];
  for (const name of SETTING_NAMES.filter((name) => !ownOfTheImage.includes(name))) {
    assertStringIncludes(compose, `    ${name}:`);
  }
});

/** Programs that read the files, and what each one checks. */
const CHECKS = [
  { program: "hadolint", args: ["ops/Dockerfile"] },
  {
    program: "caddy",
    args: ["validate", "--adapter", "caddyfile", "--config", "ops/Caddyfile"],
  },
  { program: "promtool", args: ["check", "rules", "ops/alerts.yml"] },
  {
    program: "docker-compose",
    args: ["-f", "ops/compose.yaml", "--profile", "shared", "config", "--quiet"],
  },
];

for (const { program, args } of CHECKS) {
  const isThere = isInstalled(program);
  Deno.test({
    name: `container: ${program} accepts its file${isThere ? "" : " (skipped: not installed)"}`,
    ignore: !isThere,
    async fn() {
      const { code, stderr } = await run([program, ...args], ROOT, {});
      assertEquals(code, 0, stderr);
    },
  });
}
