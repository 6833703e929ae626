/** A single value in place of a list, as the vendor's parser accepts it and some libraries always send it. */
import { assertEquals } from "../../../support/assert.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import { converted } from "../conversion/converting.ts";

const whole: JsonObject = {
  model: "m",
  systemInstruction: { parts: [{ text: "s" }] },
  contents: [
    { role: "user", parts: [{ text: "a" }] },
    { role: "model", parts: [{ functionCall: { id: "c1", name: "f", args: {} } }] },
    {
      role: "user",
      parts: [{
        functionResponse: {
          id: "c1",
          name: "f",
          response: { output: "b" },
          parts: [{ inlineData: { mimeType: "application/pdf", data: "JVBERi0=" } }],
        },
      }],
    },
  ],
  tools: [{
    functionDeclarations: [{
      name: "f",
      parameters: {
        type: "OBJECT",
        // A property of this name is not a field.
        properties: { parts: { type: "STRING" }, b: { anyOf: [{ type: "STRING" }] } },
        required: ["parts"],
      },
    }],
  }],
  toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
  generationConfig: { stopSequences: ["END"], responseModalities: ["TEXT"] },
  safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
};

/** Replaces every list of one by its entry; `contents` keeps its list, which has three. */
function single(value: Json): Json {
  if (Array.isArray(value)) {
    const [one] = value;
    return value.length === 1 && one !== undefined ? single(one) : value.map(single);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, single(inner ?? null)]),
  );
}

Deno.test("a single value means a list of one, in every list of a request, for every provider", () => {
  const given = single(whole);
  const styles = ["messages", "chat", "responses", "converse"] as const satisfies ProviderStyle[];
  for (const style of styles) {
    const capabilities = { stop_max: 4 };
    const listed = converted("gemini", style, whole, capabilities);
    const alone = converted("gemini", style, JSON.parse(JSON.stringify(given)), capabilities);
    assertEquals(alone.body, listed.body, style);
    assertEquals(alone.dropped, listed.dropped, style);
  }
});
