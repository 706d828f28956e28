/** Lists of the API: pages by a limit and a cursor. */
import type { Handler, HandlerArguments } from "../http/admission.ts";
import { answer } from "../http/answer.ts";
import { type FieldDescriptions, ok } from "../openapi/describe.ts";
import { cursorOf, limitOf } from "../openapi/fields.ts";
import type { Page, Wire } from "../openapi/wire.ts";

/**
 * Declares the part of an endpoint by which it is a list.
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
  const handler: Handler = async (...request) =>
    answer(request[0], 200, page.write(await read(...request)));
  const query = { ...filters, limit: limitOf(size, noun), cursor: cursorOf("cursor") };
  return { handler, query, answers: ok(`A page of ${noun}.`, page) };
}
