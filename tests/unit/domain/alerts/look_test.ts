/** Names of looks, and periods of spend. */
import { assertEquals } from "@std/assert";
import { groupName, kindLook, lookOf } from "../../../../domain/alerts/signal.ts";
import { RULE_KINDS } from "../../../../domain/alerts/rule.ts";

Deno.test("looks: each name asks for one look", () => {
  for (const kind of RULE_KINDS) assertEquals(lookOf(kindLook(kind)), { of: "kind", kind });
  assertEquals(lookOf("quota"), { of: "rule", rule: "quota" });
  assertEquals(lookOf(groupName("a.b", "x *y z")), { of: "group", rule: "a.b", group: "x *y z" });
  assertEquals(lookOf(groupName("a", "")), { of: "group", rule: "a", group: "" });
  assertEquals(lookOf("*nothing"), null);
});
