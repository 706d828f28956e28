/**
 * A shared KV as a program: a KV Connect server over the engine of `denokv`.
 *
 * Each path `/db/NAME` is a database of its own, in memory, or in a file of the folder that the
 * command line names. The program prints its origin, and ends with its standard input.
 *
 * No other file may import the engine. It is a native addon, and Deno crashes a parallel test run
 * when a promise of an addon settles after its test file has ended.
 */
import { openKv } from "@deno/kv";
import { KV_TOKEN } from "./kv_client.ts";

/** An open database; the package keeps the addon in fields of its handle. */
interface Handle {
  readonly napi: {
    snapshotRead(db: number, request: Uint8Array, debug: boolean): Promise<Uint8Array>;
    atomicWrite(db: number, request: Uint8Array, debug: boolean): Promise<Uint8Array>;
  };
  readonly dbId: number;
}

const [folder] = Deno.args;
const databases = new Map<string, Promise<Handle>>();

function databaseOf(name: string): Promise<Handle> {
  const path = folder === undefined ? ":memory:" : `${folder}/${name}.sqlite`;
  const opening = databases.get(name) ??
    openKv(path, { implementation: "sqlite" }) as Promise<unknown> as Promise<Handle>;
  databases.set(name, opening);
  return opening;
}

async function answer(request: Request): Promise<Response> {
  const body = await request.bytes();
  const { pathname } = new URL(request.url);
  const [, base, name, call] = /^(\/db\/([^/]+))\/?(.*)$/.exec(pathname) ?? [];
  if (base === undefined || name === undefined) return text(404, "no such database");
  if (request.headers.get("authorization") !== `Bearer ${KV_TOKEN}`) {
    return text(401, "invalid token");
  }
  const { napi, dbId } = await databaseOf(name);
  switch (call) {
    case "":
      return Response.json({
        version: 3,
        databaseId: "00000000-0000-0000-0000-000000000000",
        endpoints: [{ url: `${base}/v2`, consistency: "strong" }],
        token: KV_TOKEN,
        expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
      });
    case "v2/snapshot_read":
      return protobuf(await napi.snapshotRead(dbId, body, false));
    case "v2/atomic_write":
      return protobuf(await napi.atomicWrite(dbId, body, false));
    default:
      return text(404, "no such call");
  }
}

function text(status: number, body: string): Response {
  return new Response(body, { status });
}

function protobuf(body: Uint8Array): Response {
  const headers = { "Content-Type": "application/x-protobuf" };
  return new Response(body as BodyInit, { headers });
}

if (import.meta.main) {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => answer(request).catch((error) => text(400, String(error))),
  );
  // deno-lint-ignore no-console -- prints its address for the tests
  console.log(`http://127.0.0.1:${server.addr.port}`);
  await Deno.stdin.readable.pipeTo(new WritableStream());
  Deno.exit();
}
