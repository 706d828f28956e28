/** Rules of every page: texts of clients stay text, and nothing is offered that is refused. */
import { assert, assertEquals } from "@std/assert";
import { hrefsOf, type Reader, signedIn } from "../support/harness/dashboard.ts";
import { OPERATOR_KEY } from "../support/harness/operator.ts";
import { type HostileWorld, openHostileWorld } from "../push/browser/hostile_world.ts";
import { PAGES } from "../push/browser/pages.ts";

const HOSTILE =
  `"><img src=x onerror=pwn()>[x](javascript:pwn())'</textarea><script>pwn()</script>`;

/** Opens each page of a role in a world. */
async function pagesOf(world: HostileWorld, reader: Reader, role: "admin" | "operator") {
  const pages: { path: string; status: number; text: string }[] = [];
  for (const { path: pathIn, ...page } of PAGES) {
    if (page.role !== role) continue;
    const path = pathIn(world);
    const { status, text } = await reader.get(path);
    pages.push({ path, status, text });
  }
  return pages;
}

Deno.test("every page shows texts of clients as text, and offers no key what it may not use", async (t) => {
  await using world = await openHostileWorld([HOSTILE]);
  const { h } = world;
  const operator = await signedIn(h, OPERATOR_KEY);
  const reader = await signedIn(h, await h.addKey({ kind: "api_key", scopes: ["read"] }));
  await t.step("texts", async () => {
    const pages = [
      ...await pagesOf(world, await signedIn(h), "admin"),
      ...await pagesOf(world, operator, "operator"),
    ];
    for (const { path, text } of pages) {
      assert(!/<img|<script>|href="javascript:/.test(text), path);
    }
    assert(
      pages.filter(({ text }) => text.includes("&lt;img src=x onerror=pwn()&gt;")).length > 30,
    );
  });
  await t.step("links and forms for the scope read", async () => {
    const links = new Set<string>(), forms = new Set<string>();
    for (const { status, text } of await pagesOf(world, reader, "admin")) {
      if (status === 403) continue;
      for (const href of hrefsOf(text)) {
        if (href.startsWith("/dashboard")) links.add(href.split("#")[0] ?? "");
      }
      for (const [, path = ""] of text.matchAll(/<form[^>]*method="post"[^>]*action="([^"]*)"/g)) {
        if (!path.endsWith("/sign-out")) forms.add(path.replaceAll("&amp;", "&"));
      }
    }
    assert(links.size > 50 && forms.size > 0, `${links.size} links, ${forms.size} forms`);
    const refused: string[] = [];
    for (const path of links) if ((await reader.get(path)).status === 403) refused.push(path);
    for (const path of forms) if ((await reader.send(path)).status === 403) refused.push(path);
    assertEquals(refused, []);
  });
});
