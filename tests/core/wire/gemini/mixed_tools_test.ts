/** Hosted tools beside functions, in the form that each generation and service of the vendor takes. */
import { assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { RouteCapabilities, Style } from "../../../../core/wire/contract/contract.ts";
import { accepted, refusal } from "../conversion/converting.ts";

type Client = Exclude<Style, "gemini">;

const schema = { type: "object" };

/** A request with a search and a function; `choice`: the choice of tools. */
function asked(client: Client, choice?: "auto" | "required"): JsonObject {
  const search = { type: "web_search", name: "web_search" };
  switch (client) {
    case "messages":
      return {
        model: "m",
        max_tokens: 9,
        messages: [{ role: "user", content: "a" }],
        tools: [{ ...search, type: "web_search_20250305" }, { name: "f", input_schema: schema }],
        ...(choice === undefined
          ? {}
          : { tool_choice: { type: choice === "required" ? "any" : choice } }),
      };
    case "chat":
      return {
        model: "m",
        messages: [{ role: "user", content: "a" }],
        tools: [search, { type: "function", function: { name: "f", parameters: schema } }],
        ...(choice === undefined ? {} : { tool_choice: choice }),
      };
    case "responses":
      return {
        model: "m",
        input: "a",
        tools: [search, { type: "function", name: "f", parameters: schema }],
        ...(choice === undefined ? {} : { tool_choice: choice }),
      };
  }
}

const clients = ["messages", "chat", "responses"] as const satisfies readonly Client[];
const functions = { functionDeclarations: [{ name: "f", parametersJsonSchema: schema }] };
const search = { googleSearch: {} };

Deno.test("a hosted tool beside functions goes as the model takes it", () => {
  const flag = { includeServerSideToolInvocations: true };
  const cases: [RouteCapabilities, "auto" | "required" | undefined, JsonObject[], JsonObject?][] = [
    [{}, undefined, [functions, search], {
      functionCallingConfig: { mode: "VALIDATED" },
      ...flag,
    }],
    [{}, "auto", [functions, search], { functionCallingConfig: { mode: "VALIDATED" }, ...flag }],
    [{}, "required", [functions, search], { functionCallingConfig: { mode: "ANY" }, ...flag }],
    [{ mixed_tools: "plain" }, undefined, [functions, search]],
    [{ mixed_tools: "plain" }, "auto", [functions, search], {
      functionCallingConfig: { mode: "AUTO" },
    }],
    [{ mixed_tools: "no" }, undefined, [functions]],
    [{ thinking: "budget" }, undefined, [functions]],
    [{ thinking: "none" }, "required", [functions], { functionCallingConfig: { mode: "ANY" } }],
  ];
  for (const client of clients) {
    for (const [capabilities, choice, tools, toolConfig] of cases) {
      const { body, dropped } = accepted(client, "gemini", asked(client, choice), capabilities);
      const name = `${client} ${JSON.stringify(capabilities)} ${choice}`;
      assertEquals(body.tools, tools, name);
      assertEquals(body.toolConfig, toolConfig, name);
      assertEquals(dropped.includes("tools.0"), tools.length === 1, name);
    }
  }
});

Deno.test("a search alone needs no flag, and a forced one that cannot go is refused", () => {
  for (const client of clients) {
    const request = asked(client);
    const [tool] = Array.isArray(request.tools) ? request.tools : [];
    const alone = accepted(client, "gemini", { ...request, tools: [tool ?? null] });
    assertEquals([alone.body.tools, alone.body.toolConfig], [[search], undefined]);
    // A Chat client cannot force a tool that is no function.
    if (client === "chat") continue;
    const { code } = refusal(client, "gemini", {
      ...request,
      tool_choice: client === "messages"
        ? { type: "tool", name: "web_search" }
        : { type: "web_search" },
    }, { thinking: "budget" });
    assertEquals(code, "conversion_refused");
  }
});
