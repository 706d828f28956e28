/** Whether everybody can use a page, as far as a program can tell. */
import source from "axe-core";
import type { Page } from "playwright-core";

/** What of a result is told. */
interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Enough to see what is wrong. */
const NODES_TOLD = 3;

/**
 * What axe finds wrong with the page that is shown, a text each.
 *
 * @param rules those to look at; all by default
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
    ...nodes.slice(0, NODES_TOLD).map(({ html, failureSummary }) =>
      `${html.slice(0, 200)}: ${failureSummary.replace(/\s+/g, " ")}`
    ),
  ]);
}
