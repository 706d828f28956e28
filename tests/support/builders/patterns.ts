/** Compiled patterns, as a service keeps them. */
import { compilePattern, patternBytes } from "../../../domain/checks/language/pattern.ts";
import { memo, Memory } from "../../../runtime/memory.ts";

export const PATTERNS = memo(compilePattern, {
  memory: new Memory(),
  part: 1,
  nameOf: ({ source }) => source,
  bytesOf: patternBytes,
});
