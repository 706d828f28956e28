/**
 * Attacks with connections: idle ones, slow writers, unusual framing, and unknown paths and keys.
 */
import { BODY_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, attack } from "../attack.ts";
import { type Attacker, RATE, type Socket } from "../attacker.ts";
import { delay } from "../delay.ts";
import { aCall, events, newId } from "../values.ts";
import { madeUpKey, refusedBy401 } from "./pages.ts";

/** Head of a form that needs no credential. */
const FORM = `POST /dashboard/sign-in HTTP/1.1\r\nHost: ledger\r\nSec-Fetch-Site: same-origin\r\n` +
  `Content-Length: ${BODY_BYTES_MAX}\r\n\r\n`;

function beat(attacker: Attacker, ...headers: string[]): string {
  return attacker.head("POST", "/v1/heartbeats", ...headers);
}

/** Sends one byte of a body at a time until the service responds or closes. */
async function drip(attacker: Attacker, socket: Socket, everyMs: number): Promise<void> {
  const answered = attacker.answered(socket);
  let over = false;
  const ended = answered.catch(() => null).finally(() => over = true);
  while (!over && !attacker.signal.aborted) {
    await socket.send(" ");
    await delay(everyMs, attacker.signal);
  }
  await ended;
}

/** Attacks with connections. */
export const sockets: readonly Attack[] = [
  attack({
    name: "bodies that are announced",
    finding: "H3",
    does:
      "64 connections that announce 1 MiB and send none of it, half of them without a credential",
    run: (attacker) =>
      attacker.hold(64, async (socket, n) => {
        await socket.send(n % 2 === 0 ? FORM : beat(attacker, `Content-Length: ${BODY_BYTES_MAX}`));
        await attacker.answered(socket);
      }),
  }),
  attack({
    name: "bodies that stop before their end",
    finding: "H3",
    does: "64 connections that send all of 1 MiB but the last byte",
    run: (attacker) => {
      const prefix = " ".repeat(BODY_BYTES_MAX - 1);
      return attacker.hold(64, async (socket, n) => {
        const head = n % 2 === 0 ? FORM : beat(attacker, `Content-Length: ${BODY_BYTES_MAX}`);
        await socket.send(head + prefix);
        await attacker.answered(socket);
      });
    },
  }),
  attack({
    name: "bodies that drip",
    finding: null,
    does: "256 connections that send a body of 1 MiB, one byte each half second",
    run: (attacker) =>
      attacker.hold(256, async (socket) => {
        await socket.send(beat(attacker, `Content-Length: ${BODY_BYTES_MAX}`));
        await drip(attacker, socket, 500);
      }),
  }),
  attack({
    name: "forms that drip",
    finding: null,
    does: "256 connections that send a form, one byte each half second, without a credential",
    run: (attacker) =>
      attacker.hold(256, async (socket) => {
        await socket.send(FORM);
        await drip(attacker, socket, 500);
      }),
  }),
  attack({
    name: "small bodies that never end",
    finding: null,
    does: "1,000 connections with a body of 1 kB each that stops in the middle",
    run: (attacker) =>
      attacker.hold(1_000, async (socket) => {
        await socket.send(`${beat(attacker, "Content-Length: 1000")}{"agent":`);
        await attacker.answered(socket);
      }),
  }),
  attack({
    name: "heads that never end",
    finding: null,
    does: "1,000 connections with half a head, and one more line each second",
    run: (attacker) =>
      attacker.hold(1_000, async (socket, n) => {
        await socket.send("POST /v1/heartbeats HTTP/1.1\r\nHost: ledger\r\n");
        const closed = socket.drain().then(() => attacker.count("closed"));
        for (let line = 0; !attacker.signal.aborted; line++) {
          const isOver = await Promise.race([
            closed.then(() => true),
            delay(1_000).then(() => false),
          ]);
          if (isOver) return;
          await socket.send(`X-${n}-${line}: x\r\n`);
        }
      }),
  }),
  attack({
    name: "connections that say nothing",
    finding: null,
    does: "2,000 connections without a byte",
    run: (attacker) =>
      attacker.hold(2_000, async (socket) => {
        await socket.drain();
        attacker.count("closed");
      }),
  }),
  attack({
    name: "refusals that are left open",
    finding: "A2",
    does: "500 connections whose body is refused with 401 or 413 before its end, and never closed",
    run: (attacker) =>
      attacker.hold(500, async (socket, n) => {
        const unknown = `POST /v1/runs HTTP/1.1\r\nHost: ledger\r\nAuthorization: Bearer ` +
          `${madeUpKey()}\r\nContent-Length: 1000\r\n\r\n{`;
        await socket.send(n % 2 === 0 ? unknown : beat(attacker, "Content-Length: 9000000"));
        await attacker.answered(socket);
        await socket.drain();
      }),
  }),
  attack({
    name: "chunks of one byte",
    finding: null,
    does: "bodies of 100,000 chunks of one byte each",
    run: (attacker) => {
      const chunks = `1\r\n \r\n`.repeat(100_000) + `0\r\n\r\n`;
      return attacker.hold(32, async (socket) => {
        await socket.send(beat(attacker, "Transfer-Encoding: chunked"));
        const answered = attacker.answered(socket);
        await socket.send(chunks);
        await answered;
      });
    },
  }),
  attack({
    name: "pipelined requests",
    finding: null,
    does: "20 connections with 50 requests each in one write, repeatedly",
    run: (attacker) => {
      const requests = attacker.head("GET", "/v1/runs?limit=1").repeat(50);
      return attacker.hold(20, async (socket) => {
        await socket.send(requests);
        await attacker.answered(socket);
        // The other responses arrive as fast as they are read.
        await Promise.race([socket.drain(), delay(1_000, attacker.signal)]);
      });
    },
  }),
  attack({
    name: "unread pipelined requests",
    finding: null,
    does: "50 connections with 2,000 requests each, whose responses are not read",
    run: (attacker) => {
      const requests = attacker.head("GET", "/v1/rate-card?limit=1000").repeat(2_000);
      return attacker.hold(50, async (socket) => {
        await Promise.race([socket.send(requests), delay(15_000, attacker.signal)]);
        await delay(15_000, attacker.signal);
      });
    },
  }),
  attack({
    name: "largest heads",
    finding: null,
    does: "60 kB in a query, in one header or in 90 headers",
    run: (attacker) => {
      const query = `/v1/ping?agent=a&x=${"x".repeat(60_000)}`;
      const many = Object.fromEntries(
        Array.from({ length: 90 }, (_, n) => [`x-header-${n}`, "x".repeat(600)]),
      );
      return attacker.pace(RATE.ingest, (n) => {
        if (n % 3 === 0) return attacker.get(query);
        return attacker.get("/v1/ping?agent=a", n % 3 === 1 ? { "x-a": "x".repeat(60_000) } : many);
      });
    },
  }),
  attack({
    name: "writers that leave",
    finding: null,
    does: "complete batches on connections that close immediately",
    run: (attacker) =>
      attacker.pace(RATE.ingest, () => {
        const body = JSON.stringify(events(50, (n) => aCall("p", `m-${n}`)));
        const path = `/v1/runs/${newId("run")}/events`;
        const head = attacker.head("POST", path, `Content-Length: ${body.length}`);
        return attacker.leave(head + body);
      }),
  }),
  attack({
    name: "made-up keys",
    finding: "L8",
    does: "300 requests a second with made-up keys",
    run: (attacker) =>
      attacker.pace(300, async (n) => {
        const key = madeUpKey();
        const answer = n % 2 === 0
          ? await attacker.send("GET", "/v1/runs", { key })
          : await attacker.send("POST", "/v1/heartbeats", { key, body: '{"agent":"a"}' });
        refusedBy401(attacker, answer);
      }),
  }),
  attack({
    name: "paths and methods that are none",
    finding: null,
    does: "500 requests a second that end with 404, 405 or as OPTIONS, without a credential",
    run: (attacker) =>
      attacker.pace(500, (n) => {
        const options = { key: null };
        if (n % 3 === 0) return attacker.send("OPTIONS", "/v1/runs", options);
        if (n % 3 === 1) return attacker.send("DELETE", "/v1/heartbeats", options);
        return attacker.send("GET", `/${"%F0%90%8D%88/".repeat(200)}${n}`, options);
      }),
  }),
  attack({
    name: "nothing",
    finding: null,
    does: "no attack: the baseline of the second team",
    run: (attacker) => attacker.pace(1, () => attacker.send("GET", "/healthz", { key: null })),
  }),
];
