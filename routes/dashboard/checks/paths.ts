/** Paths of the pages of checks. */
import { CHECKS_PATH } from "../layout/paths.ts";

/** The form of a new check. It has two segments, so no check's page can have its path. */
export const NEW_CHECK_PATH = `${CHECKS_PATH}/new/check`;

/** Judges stored runs by the content of a form. */
export const TRY_PATH = `${CHECKS_PATH}/new/trial`;

/** Path of a check, or of one of its forms. */
export function checkPath(slug: string, action: "" | "/edit" | "/delete" = "") {
  return `${CHECKS_PATH}/${encodeURIComponent(slug)}${action}`;
}
