/** Parts of endpoints that answer with JSON: their handler, and the description of what it writes. */
import type { Handler, HandlerArguments } from "../http/admission.ts";
import { answer } from "../http/answer.ts";
import { type FieldDescriptions, ok } from "../openapi/describe.ts";
import { cursorOf, limitOf } from "../openapi/fields.ts";
import type { Page, Wire } from "../openapi/wire.ts";

/** Declares the part of an endpoint by which it answers with what `read` returns. */
export function returns<Value>(
  description: string,
  value: Wire<Value>,
  read: (...request: HandlerArguments) => Value | Promise<Value>,
) {
  const handler: Handler = async (...request) =>
    answer(request[0], 200, value.write(await read(...request)));
  return { handler, answers: ok(description, value) };
}

/**
 * Declares the part of an endpoint by which it is a list: pages by a limit and a cursor.
 *
 * @param filters parameters besides the limit and the cursor
 */
export function listOf<Item>(
  noun: string,
  page: Wire<Page<Item>>,
  size: Parameters<typeof limitOf>[0],
  read: (...request: HandlerArguments) => Promise<Page<Item>>,
  filters: FieldDescriptions = {},
) {
  const query = { ...filters, limit: limitOf(size, noun), cursor: cursorOf("cursor") };
  return { query, ...returns(`A page of ${noun}.`, page, read) };
}
