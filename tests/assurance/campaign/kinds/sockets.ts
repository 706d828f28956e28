/** Attacks with connections: idle ones, slow writers, unusual framing, and unknown keys. */
import { BODY_BYTES_MAX } from "../../../../domain/core/limits.ts";
import { type Attack, type Attacker, delay, type Socket } from "../attacker.ts";
import { madeUpKey } from "../values.ts";

/** Head of a form that needs no credential. */
const FORM = `POST /dashboard/sign-in HTTP/1.1\r\nHost: ledger\r\nSec-Fetch-Site: same-origin\r\n` +
  `Content-Length: ${BODY_BYTES_MAX}\r\n\r\n`;

function beat(attacker: Attacker, ...headers: string[]): string {
  return attacker.head("POST", "/v1/heartbeats", ...headers);
}

/** Head of the largest body; every other one is a form without a credential. */
function headOf(attacker: Attacker, n: number): string {
  return n % 2 === 0 ? FORM : beat(attacker, `Content-Length: ${BODY_BYTES_MAX}`);
}

/** Sends a text at intervals until the service responds or closes. */
async function drip(attacker: Attacker, socket: Socket, everyMs: number, text: () => string) {
  let isOver = false;
  const ended = attacker.answered(socket).catch(() => null).finally(() => isOver = true);
  while (!isOver && !attacker.signal.aborted) {
    await socket.send(text());
    await delay(everyMs, attacker.signal);
  }
  await ended;
}

export const SOCKETS: readonly Attack[] = [
  {
    name: "nothing",
    does: "no attack: the baseline of the second team",
    run: (attacker) => attacker.pace(1, () => attacker.send("GET", "/healthz", { key: null })),
  },
  {
    name: "bodies that stop before their end",
    does: "64 connections that send all of 2 MiB but the last byte, half without a credential",
    run(attacker) {
      const prefix = " ".repeat(BODY_BYTES_MAX - 1);
      return attacker.hold(64, async (socket, n) => {
        await socket.send(headOf(attacker, n) + prefix);
        await attacker.answered(socket);
      });
    },
  },
  {
    name: "bodies that drip",
    does: "256 connections that send a body one byte each half second, half without a credential",
    run: (attacker) =>
      attacker.hold(256, async (socket, n) => {
        await socket.send(headOf(attacker, n));
        await drip(attacker, socket, 500, () => " ");
      }),
  },
  {
    name: "heads that never end",
    does: "1,000 connections with half a head, and one more line each second",
    run: (attacker) =>
      attacker.hold(1_000, async (socket) => {
        await socket.send("POST /v1/heartbeats HTTP/1.1\r\nHost: ledger\r\n");
        let line = 0;
        await drip(attacker, socket, 1_000, () => `X-${line++}: x\r\n`);
      }),
  },
  {
    name: "refusals that are left open",
    does: "500 connections whose body is refused with 401 or 413 before its end, and never closed",
    run: (attacker) =>
      attacker.hold(500, async (socket, n) => {
        const unknown = `POST /v1/runs HTTP/1.1\r\nHost: ledger\r\nAuthorization: Bearer ` +
          `${madeUpKey()}\r\nContent-Length: 1000\r\n\r\n{`;
        await socket.send(n % 2 === 0 ? unknown : beat(attacker, "Content-Length: 9000000"));
        await attacker.answered(socket);
        await socket.drain();
      }),
  },
  {
    name: "unread pipelined requests",
    does: "50 connections with 2,000 requests each, whose responses are not read",
    run(attacker) {
      const requests = attacker.head("GET", "/v1/rate-card?limit=1000").repeat(2_000);
      return attacker.hold(50, async (socket) => {
        await Promise.race([socket.send(requests), delay(15_000, attacker.signal)]);
        await delay(15_000, attacker.signal);
      });
    },
  },
  {
    name: "made-up keys",
    does: "300 requests a second with made-up keys",
    run: (attacker) =>
      attacker.pace(300, async (n) => {
        const key = madeUpKey();
        const answer = n % 2 === 0
          ? await attacker.send("GET", "/v1/runs", { key })
          : await attacker.send("POST", "/v1/heartbeats", { key, body: '{"agent":"a"}' });
        if (answer?.status === 429) attacker.blame("a wrong credential was answered with 429");
      }),
  },
];
