import { assert, assertEquals } from "@std/assert";
import {
  linesFor,
  PRODUCTS,
  productsOf,
  STANDARD_LINES,
} from "../../../../domain/otlp/products.ts";
import { recordedExports, spansOf } from "../../../support/builders/spans.ts";

/** Product of each recorded export; others are sent by a product that has its own name. */
const RECORDED: Readonly<Record<string, string>> = {
  ...{ ai6: "vercel-6", ai7: "vercel", anth: "anthropic", cc: "claude-code", dbl: "openinference" },
  ...{ lf: "langfuse", official: "openai", oi: "openinference", trl: "openllmetry" },
  ...{ "py-adk": "adk-strands", "py-agents-oi": "frameworks", "py-agno": "frameworks" },
  ...{ "py-bedrock": "gemini-bedrock", "py-crewai": "frameworks openinference" },
  ...{
    "py-genai-google": "gemini-bedrock",
    "py-genai-openai": "openai",
    "py-langfuse": "langfuse",
  },
  ...{ "py-langsmith-otel": "langsmith", "py-litellm": "litellm", "py-llamaindex": "frameworks" },
  ...{ "py-logfire": "pydantic", "py-mlflow": "mlflow", "py-official": "openai" },
  ...{ "py-oi-langgraph": "openinference", "py-oi-openai": "anthropic openinference" },
  ...{
    "py-openlit": "openlit",
    "py-phoenix": "openinference",
    "py-pydantic": "anthropic pydantic",
  },
  ...{ "py-sk": "adk-strands", "py-strands": "adk-strands" },
  "py-traceloop": "anthropic openllmetry",
};

Deno.test("products: each recorded export comes from the products that are named", async () => {
  const heard: Record<string, string> = {};
  const recorded = new Set<string>();
  for (const sent of await recordedExports()) {
    const products = productsOf(spansOf(sent));
    heard[sent.name] = [...products].sort().join(" ");
    for (const product of products) recorded.add(product);
  }
  assertEquals(heard, RECORDED);
  for (const { slug, evidence } of PRODUCTS) {
    assertEquals(recorded.has(slug), evidence !== "documentation", slug);
  }
  assertEquals(
    [...productsOf([{ scope: "opentelemetry.instrumentation.httpx" }, { scope: "" }])],
    [],
  );
});

Deno.test("products: lines name the service and the key, and nothing is left to fill in", () => {
  assertEquals(new Set(PRODUCTS.map(({ slug }) => slug)).size, PRODUCTS.length);
  for (const product of PRODUCTS) {
    const lines = linesFor(product, "https://a.example", "apk_eu_1");
    assert(lines.includes("https://a.example") && lines.includes("apk_eu_1"), product.slug);
    assert(!/[{]\w+[}]/.test(lines), lines);
    assert(lines.split("\n").length <= STANDARD_LINES.length + 2, product.slug);
  }
});

const MARKS = { live: "", recorded: " *", documentation: " **" } as const;

/** Lines of the products that need no others, in a cell. */
const STANDARD = STANDARD_LINES.map((line) => `\`${line}\``).join("<br>");

Deno.test("products: docs/CONNECT.md has each with its lines, and no other", async () => {
  const text = await Deno.readTextFile(new URL("../../../../docs/CONNECT.md", import.meta.url));
  const standard = { lines: STANDARD_LINES };
  for (const line of linesFor(standard, "https://runledger.example.com", "apk_eu_…").split("\n")) {
    assert(text.includes(line), line);
  }
  const section = text.split("## Products")[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|")).slice(2)
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  assertEquals(
    rows,
    PRODUCTS.map(({ name, evidence, lines, shows, lacks }) => [
      name + MARKS[evidence],
      lines.map((line) => `\`${line}\``).join("<br>").replace(STANDARD, "the three above"),
      shows,
      lacks,
    ]),
  );
});
