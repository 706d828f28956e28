/** W3C Trace Context header: valid headers are read, any other is ignored. */
import { assertEquals } from "@std/assert";
import { parseTraceparent } from "../../../../domain/core/traceparent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

Deno.test("traceparent: trace and span of a valid header are kept, whatever its flags", () => {
  const expected = { traceId: TRACE, spanId: SPAN };
  for (const flags of ["00", "01", "ff"]) {
    assertEquals(parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`), expected);
  }
});

Deno.test("traceparent: a later version is read by the fields known today", () => {
  const expected = { traceId: TRACE, spanId: SPAN };
  for (const version of ["01", "cc", "fe"]) {
    assertEquals(parseTraceparent(`${version}-${TRACE}-${SPAN}-01`), expected);
    assertEquals(parseTraceparent(`${version}-${TRACE}-${SPAN}-01-what the future`), expected);
    assertEquals(parseTraceparent(`${version}-${TRACE}-${SPAN}-01.more`), undefined);
  }
});

Deno.test("traceparent: an invalid header is ignored", () => {
  const invalid = [
    null,
    undefined,
    "",
    TRACE,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-01-`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `0-${TRACE}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN.slice(1)}-01`,
    `00-${TRACE}g-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-0g`,
  ];
  for (const header of invalid) assertEquals(parseTraceparent(header), undefined, `${header}`);
});
