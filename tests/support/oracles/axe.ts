/** Accessibility check of a page, as far as a program can decide. */
import source from "axe-core";
import type { Page } from "playwright-core";

/** Reported part of a result. */
interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Maximum elements per violation in a report. */
const NODES_MAX = 3;

/**
 * Returns axe's violations on the current page, one text each.
 *
 * @param rules rules to check; all by default
 */
export async function axe(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = {
    resultTypes: ["violations"],
    ...(rules === undefined ? {} : { runOnly: { type: "rule", values: rules } }),
  };
  if (!await page.evaluate<boolean>("'axe' in globalThis")) await page.evaluate(source);
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, help, nodes }) => [
    `${id}: ${help} (${nodes.length} times)`,
    ...nodes.slice(0, NODES_MAX).map(({ html, failureSummary }) =>
      `${html.slice(0, 200)}: ${failureSummary.replace(/\s+/g, " ")}`
    ),
  ]);
}
