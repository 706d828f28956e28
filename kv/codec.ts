/**
 * The stored text of a run's parts: JSON in which users' payloads stand as they were sent.
 *
 * @module
 */
import type { EventId } from "../domain/ids.ts";
import { rawElements, type RawJson, rawMembers, rawOf } from "../domain/json.ts";
import type { PagedEvent } from "../domain/ports.ts";
import type { RunEvent } from "../domain/events.ts";
import type { Closing, Opening, Reported } from "../domain/run.ts";

/** Writes an opening or a close. */
export function encodePart(part: Opening | Closing): string {
  const { output, reported } = part;
  if (output === undefined && reported === undefined) return `{"fields":${JSON.stringify(part)}}`;
  const fields = JSON.stringify({ ...part, output: undefined, reported: undefined });
  const told = reported === undefined ? "" : `,"reported":${encodeReported(reported)}`;
  return `{"fields":${fields}${told}${output === undefined ? "" : `,"output":${output}`}}`;
}

function encodeReported(reported: Reported): string {
  return JSON.stringify({ ...reported, cost: reported.cost?.toString() });
}

/** Reads what {@link encodePart} wrote. */
export function decodePart<Part extends Opening | Closing>(text: string): Part {
  const members = rawMembers(text);
  const part = { ...JSON.parse(members.get("fields") ?? "{}") };
  const reported = members.get("reported");
  if (reported !== undefined) part.reported = decodeReported(reported);
  const output = members.get("output");
  if (output !== undefined) part.output = output;
  return part;
}

function decodeReported(text: string): Reported {
  const stored = JSON.parse(text);
  return stored.cost === undefined ? stored : { ...stored, cost: BigInt(stored.cost) };
}

/** Writes a batch of events with its arrival. */
export function encodeBatch(events: readonly RunEvent[], receivedAt: number): string {
  // Ids and numbers need no escaping; writing them out is three times as fast as building objects.
  const parts = [`{"received_at":${receivedAt},"events":[`];
  let comma = "";
  let lastType: string | null = null;
  let typeText = "";
  for (const { id, type, ts, turn, data } of events) {
    if (type !== lastType) [lastType, typeText] = [type, rawOf(type)];
    const inTurn = turn === undefined ? "" : `"turn":${turn},`;
    parts.push(`${comma}{"id":"${id}","type":${typeText},"ts":${ts},${inTurn}"data":`, data, "}");
    comma = ",";
  }
  parts.push("]}");
  return parts.join("");
}

/** Reads what {@link encodeBatch} wrote, in the order of the batch. */
export function decodeBatch(text: string): PagedEvent[] {
  const members = rawMembers(text);
  const receivedAt = Number(members.get("received_at"));
  return rawElements(members.get("events") ?? "[]").map((raw) => {
    const event = rawMembers(raw);
    const turn = event.get("turn");
    return {
      id: JSON.parse(event.get("id") ?? "") as EventId,
      type: JSON.parse(event.get("type") ?? ""),
      ts: Number(event.get("ts")),
      turn: turn === undefined ? undefined : Number(turn),
      data: event.get("data") ?? ("{}" as RawJson),
      receivedAt,
    };
  });
}
