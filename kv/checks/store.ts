/**
 * Stores checks.
 *
 * @module
 */
import type { CheckSettings } from "../../domain/checks/check.ts";
import { checkFields } from "../../domain/checks/check_body.ts";
import { compile } from "../../domain/checks/compile.ts";
import type { CheckStore } from "../../domain/checks/store.ts";
import { createConfigStore } from "../config/store.ts";
import type { ObjectDeps } from "../team/rows.ts";

/** Creates the store of checks. It refuses an expression that does not compile. */
export function createCheckStore(deps: ObjectDeps): CheckStore {
  return createConfigStore<CheckSettings>(deps, {
    kind: "check",
    idPrefix: "chk",
    defaults: [],
    settle: ({ sent }) => {
      const compiled = compile(sent.expression, deps.store.patterns);
      return Promise.resolve(compiled.ok ? { ok: true, value: sent } : compiled);
    },
    auditFields: checkFields,
    followUp: () => ({ sets: [], deletes: [] }),
  });
}
