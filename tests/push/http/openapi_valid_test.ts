import { assert } from "@std/assert";
import { Validator } from "@seriousme/openapi-schema-validator";
import { documentedCalls } from "../../support/oracles/openapi_document.ts";
import { describedApi, isJsonSchema } from "../../support/oracles/openapi.ts";

Deno.test("the document is valid OpenAPI 3.1, and each schema in it valid JSON Schema", async () => {
  const document = describedApi();
  const { valid, errors } = await new Validator().validate(
    document as unknown as Record<string, unknown>,
  );
  assert(valid, JSON.stringify(errors));
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    assert(isJsonSchema(schema), name);
  }
  for (const { call } of documentedCalls(document)) {
    const contents = [
      call.requestBody?.content,
      ...Object.values(call.responses).map((answer) => answer.content),
    ];
    for (const { schema } of contents.flatMap((content) => Object.values(content ?? {}))) {
      assert(isJsonSchema(schema), call.operationId);
    }
    for (const { name, schema } of call.parameters) {
      assert(isJsonSchema(schema), `${call.operationId} ${name}`);
    }
  }
});
