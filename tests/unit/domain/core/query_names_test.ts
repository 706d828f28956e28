/** Names of query parameters (R11, R20). */
import { assertEquals } from "@std/assert";
import { nearestName, queryProblem } from "../../../../domain/core/query.ts";

const KNOWN = ["agent", "customer_id", "status", "from", "to", "limit"];

Deno.test("R11: the nearest name has the fewest edits, if it is similar at all", () => {
  const cases = [
    ["statuss", "status"],
    ["STATUS", "status"],
    ["custommer_id", "customer_id"],
    ["customer", "customer_id"],
    ["agents", "agent"],
    ["form", "from"],
    ["zzzzzz", null],
    ["", null],
    ["x".repeat(65), null],
  ] as const;
  for (const [sent, nearest] of cases) assertEquals(nearestName(sent, KNOWN), nearest, sent);
});

Deno.test("R20: a parameter needs a value, however it is left empty", () => {
  for (const query of ["status", "status=", "agent=a&status=&to=b"]) {
    assertEquals(queryProblem(query, KNOWN)?.field, "status", query);
  }
  for (const query of ["", "&", "status=a", "status=%20", "status==", "status=a&status=b"]) {
    assertEquals(queryProblem(query, KNOWN), null, query);
  }
});
