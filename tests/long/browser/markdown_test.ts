/** Markdown of strangers: nothing in a message is executed, loaded, or looks like the page. */
import { assert, assertEquals } from "@std/assert";
import { cpuUsage } from "node:process";
import { aRun, at, eventId, runId } from "../../support/builders/requests.ts";
import { browserTest } from "../../support/harness/browser.ts";
import { BrowserSession } from "../../support/harness/browser_session.ts";
import { Harness } from "../../support/harness/harness.ts";
import { ENCODED, MARKUP, STRANGE_ELEMENTS, TELL_WHEN_RUN } from "../../push/browser/payloads.ts";

const PAGE = `/dashboard/runs/${runId(1)}`;

/** Texts that a careless renderer of Markdown acts on. */
const ATTACKS: readonly string[] = [
  "[x](javascript:pwn())",
  "[x](JaVaScRiPt:pwn())",
  "[x](javascript&colon;pwn())",
  "[x](javascript&#58;pwn())",
  "[x](java\tscript:pwn())",
  "[x](<java script:pwn()>)",
  "[x](\u0001javascript:pwn())",
  "[x](vbscript:pwn())",
  "[x](data:text/html,<script>pwn()</script>)",
  "[x](file:///etc/passwd)",
  "[x](//evil.example/)",
  "[x](/dashboard/sign-out)",
  '[x](https://evil.example/ "\\" onmouseover=pwn() x=\\"")',
  '[x](https://evil.example/"onmouseover="pwn())',
  "[x][1]\n\n[1]: javascript:pwn()",
  "<javascript:pwn()>",
  "![x](//evil.example/x.png)",
  "![x](https://evil.example/x.png)",
  "![x](javascript:pwn())",
  "![x](x.png){onerror=pwn()}",
  "[![x](https://evil.example/x.png)](javascript:pwn())",
  "![x][1]\n\n[1]: https://evil.example/x.png",
  "```html onload=pwn()\n<script>pwn()</script>\n```",
  '```"><script>pwn()</script>\nx\n```',
  "<div>\n\n<script>pwn()</script>\n\n</div>",
  "<!-- -->\n<script>pwn()</script>",
  "| <img src=x onerror=pwn()> | b |\n| - | - |\n| <script>pwn()</script> | [x](javascript:pwn()) |",
  "<img src=x onerror=`pwn()`>",
  "1. <svg onload=pwn()>\n2. <iframe src=//evil.example/></iframe>",
  "> <form action=//evil.example/><button>Sign in</button></form>",
  "# <style>*{background:url(//evil.example/x)}</style>",
  "*<a href=javascript:pwn()>x</a>*",
  "\\<script>pwn()\\</script>",
  "&lt;script&gt;pwn()&lt;/script&gt;",
];

/** Texts that would take a careless parser long, or fill the page. */
const LARGE: readonly string[] = [
  "[".repeat(50_000),
  "*a **a ".repeat(8_000),
  "> ".repeat(20_000) + "x",
  "- ".repeat(20_000) + "x",
  "|a".repeat(5_900 / 4) + "\n" + "|-".repeat(5_900 / 4),
  "a\n".repeat(2_900),
];

/** Maximum milliseconds of CPU of the service for a page with one of them, on a busy machine too. */
const CPU_MS_MAX = 1_000;

browserTest(
  "Markdown in messages executes nothing, loads nothing and imitates nothing",
  async (browser) => {
    await using h = await Harness.open();
    await h.post("/v1/runs", aRun(1));
    const texts = [...ATTACKS, ...MARKUP, ...ENCODED, ...LARGE];
    for (const [n, text] of texts.entries()) {
      const call = {
        id: "c1",
        function: { name: text, arguments: JSON.stringify({ [text]: text }) },
      };
      const data = {
        model: "m",
        messages: [
          { role: "system", content: text },
          { role: text.slice(0, 60), content: text },
          { role: "user", content: [{ type: "text", text }, { type: text.slice(0, 60) }] },
          { role: "tool", tool_call_id: "c1", content: text },
        ],
        choices: [{ message: { role: "assistant", content: text, tool_calls: [call] } }],
      };
      const event = { id: eventId(n), type: "llm_call", ts: at(n), data };
      const { status } = await h.post(`/v1/runs/${runId(1)}/events`, { events: [event] });
      assertEquals(status, 202);
    }
    await using visitor = await BrowserSession.open(browser, h.url);
    const { page, faults } = visitor;
    await page.addInitScript(TELL_WHEN_RUN);
    await visitor.signIn(h.key);
    for (const [n, text] of texts.entries()) {
      const before = cpuUsage();
      await page.goto(`${PAGE}?event=${eventId(n)}`);
      const { user, system } = cpuUsage(before);
      assert((user + system) / 1_000 < CPU_MS_MAX, text.slice(0, 40));
      await page.evaluate(
        "document.querySelectorAll('details').forEach((part) => part.open = true)",
      );
      const strange = await page.evaluate<string[]>(STRANGE_ELEMENTS);
      assertEquals(strange.filter((element) => !SAFE_LINK.test(element)), [], text.slice(0, 40));
      assertEquals(await page.locator("#step :is(img, h1, h3, form)").count(), 0);
      assertEquals(faults.splice(0), [], text.slice(0, 40));
    }
  },
);

/** A link to another site that tells it nothing. */
const SAFE_LINK = /^<a href="https:\/\/evil\.example\/[^"]*" rel="noopener noreferrer nofollow">/;
