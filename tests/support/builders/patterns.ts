import { compilePattern, patternBytes } from "../../../domain/checks/language/pattern.ts";
import { memo } from "../../../runtime/memo.ts";
import { Memory } from "../../../runtime/memory.ts";

/** Compiled patterns, as a service keeps them. */
export const PATTERNS = memo(compilePattern, {
  memory: new Memory(),
  part: 1,
  nameOf: ({ source }) => source,
  bytesOf: patternBytes,
});
