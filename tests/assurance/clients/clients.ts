/** The generators, each with a program that reads a run through its client. */
import { tool } from "./tools.ts";

/** The service that a client reads, and the run. */
interface Reading {
  /** Folder with `openapi.json`, for the client. */
  readonly folder: string;
  readonly url: string;
  readonly key: string;
  readonly id: string;
}

/** A run as a client read it, and the version of the generator. */
interface Result {
  readonly version: string;
  readonly run: unknown;
}

const OAPI_CODEGEN = "v2.8.2";
const OPENAPI_GENERATOR = "7.17.0";
const OPENAPI_PYTHON_CLIENT = "0.29.1";

const GENERATOR = `org.openapitools:openapi-generator-cli:${OPENAPI_GENERATOR}`;

/** Clients by the name of their generator. */
export const CLIENTS: Readonly<Record<string, (reading: Reading) => Promise<Result>>> = {
  "openapi-python-client": async ({ folder, ...read }) => {
    const python = await pythonWith(folder, `openapi-python-client==${OPENAPI_PYTHON_CLIENT}`);
    await tool(`${folder}/venv/bin/openapi-python-client`, [
      ...["generate", "--path", "openapi.json", "--output-path", "ledger", "--meta", "none"],
    ], folder);
    await write(folder, "read.py", READ_BY_PYTHON_CLIENT);
    await tool(python, ["-m", "compileall", "-q", "ledger"], folder);
    const run = JSON.parse(await tool(python, ["read.py", ...argsOf(read)], folder));
    return { version: OPENAPI_PYTHON_CLIENT, run };
  },
  "openapi-generator-python": async ({ folder, ...read }) => {
    await generate(folder, ["-g", "python", "-o", "client"]);
    const python = await pythonWith(folder, "-r", "client/requirements.txt");
    await write(folder, "client/read.py", READ_BY_GENERATED_PYTHON);
    await tool(python, ["-m", "compileall", "-q", "client/openapi_client"], folder);
    const run = JSON.parse(await tool(python, ["client/read.py", ...argsOf(read)], folder));
    return { version: OPENAPI_GENERATOR, run };
  },
  "openapi-generator-java": async ({ folder, ...read }) => {
    await generate(folder, ["-g", "java", "--library", "native", "-o", "client"]);
    const java = "client/src/main/java";
    await write(folder, `${java}/Read.java`, READ_BY_JAVA);
    const out = await tool("mvn", [
      ...[
        "-q",
        "-B",
        "-f",
        "client/pom.xml",
        "compile",
        "org.codehaus.mojo:exec-maven-plugin:3.5.1:java",
      ],
      ...["-Dexec.mainClass=Read", `-Dexec.args=${argsOf(read).join(" ")}`],
    ], folder);
    return { version: OPENAPI_GENERATOR, run: JSON.parse(/\{.*\}/.exec(out)?.[0] ?? "") };
  },
  "oapi-codegen": async ({ folder, ...read }) => {
    await write(folder, "go.mod", "module read\n\ngo 1.24\n");
    await Deno.mkdir(`${folder}/ledger`);
    const code = await tool("go", [
      ...["run", `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${OAPI_CODEGEN}`],
      ...["-generate", "types,client", "-package", "ledger", "openapi.json"],
    ], folder);
    await write(folder, "ledger/ledger.go", code);
    await write(folder, "main.go", READ_BY_GO);
    await tool("go", ["get", "./..."], folder);
    await tool("go", ["vet", "./..."], folder);
    const run = JSON.parse(await tool("go", ["run", ".", ...argsOf(read)], folder));
    return { version: OAPI_CODEGEN, run };
  },
};

function argsOf({ url, key, id }: Omit<Reading, "folder">): string[] {
  return [url, key, id];
}

function write(folder: string, name: string, text: string): Promise<void> {
  return Deno.writeTextFile(`${folder}/${name}`, text);
}

/** Creates an environment of Python with packages, and returns its interpreter. */
async function pythonWith(folder: string, ...packages: readonly string[]): Promise<string> {
  await tool("python3", ["-m", "venv", "venv"], folder);
  const python = `${folder}/venv/bin/python`;
  await tool(python, ["-m", "pip", "install", "-q", ...packages], folder);
  return python;
}

/** Generates a client by openapi-generator, which comes from Maven Central. */
async function generate(folder: string, args: readonly string[]): Promise<void> {
  const copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";
  await tool("mvn", ["-q", "-B", copy, `-Dartifact=${GENERATOR}`, "-DoutputDirectory=."], folder);
  await tool("java", [
    ...["-jar", `openapi-generator-cli-${OPENAPI_GENERATOR}.jar`, "generate", "-i", "openapi.json"],
    ...args,
    "--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false",
  ], folder);
}

const READ_BY_PYTHON_CLIENT = `
import json, sys
from ledger.client import AuthenticatedClient
from ledger.api.runs import get_run

url, key, id = sys.argv[1:]
run = get_run.sync(id=id, client=AuthenticatedClient(base_url=url, token=key))
print(json.dumps({
    "id": run.id,
    "status": run.status.value,
    "started": round(run.started_at.timestamp() * 1000),
    "cost": run.cost_usd,
    "scores": [score.value for score in run.scores],
    "events": [event.type_ for event in run.events],
    "model": run.events[0].data["model"],
}))
`;

const READ_BY_GENERATED_PYTHON = `
import json, sys
import openapi_client

url, key, id = sys.argv[1:]
with openapi_client.ApiClient(openapi_client.Configuration(host=url, access_token=key)) as client:
    run = openapi_client.RunsApi(client).get_run(id)
print(json.dumps({
    "id": run.id,
    "status": run.status.value,
    "started": round(run.started_at.timestamp() * 1000),
    "cost": run.cost_usd,
    "scores": [score.value.actual_instance for score in run.scores],
    "events": [event.type for event in run.events],
    "model": run.events[0].data["model"],
}))
`;

const READ_BY_JAVA = `
import com.fasterxml.jackson.databind.MapperFeature;
import java.net.http.HttpClient;
import java.util.*;
import org.openapitools.client.*;
import org.openapitools.client.api.RunsApi;

public class Read {
  public static void main(String[] args) throws Exception {
    var client = new ApiClient();
    // Without TLS, its HTTP/2 begins with an upgrade, which the server's runtime refuses.
    client.setHttpClientBuilder(HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1));
    client.updateBaseUri(args[0]);
    // Otherwise its reader takes the score 3 for a boolean too, and refuses it as ambiguous.
    client.setObjectMapper(
        client.getObjectMapper().configure(MapperFeature.ALLOW_COERCION_OF_SCALARS, false));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[1]));
    var run = new RunsApi(client).getRun(args[2], null, null, null, null, null);
    var read = new LinkedHashMap<String, Object>();
    read.put("id", run.getId());
    read.put("status", run.getStatus().getValue());
    read.put("started", run.getStartedAt().toInstant().toEpochMilli());
    read.put("cost", run.getCostUsd());
    read.put("scores", run.getScores().stream().map(score -> score.getValue().getActualInstance()).toList());
    read.put("events", run.getEvents().stream().map(event -> event.getType()).toList());
    read.put("model", ((Map<?, ?>) run.getEvents().get(0).getData()).get("model"));
    System.out.println(client.getObjectMapper().writeValueAsString(read));
  }
}
`;

const READ_BY_GO = `
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"read/ledger"
)

func main() {
	url, key, id := os.Args[1], os.Args[2], os.Args[3]
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	client, err := ledger.NewClientWithResponses(url, ledger.WithRequestEditorFn(authorize))
	if err != nil {
		panic(err)
	}
	answer, err := client.GetRunWithResponse(context.Background(), id, &ledger.GetRunParams{})
	if err != nil {
		panic(err)
	}
	run := answer.JSON200
	scores, events := []any{}, []string{}
	for _, score := range run.Scores {
		scores = append(scores, score.Value)
	}
	for _, event := range run.Events {
		events = append(events, event.Type)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"id": run.Id, "status": run.Status, "started": run.StartedAt.UnixMilli(),
		"cost": run.CostUsd, "scores": scores, "events": events,
		"model": run.Events[0].Data["model"],
	})
}
`;
