/**
 * Calls of a client's tools: whatever tools a request declares, a model that calls them by the names and schemas which
 * its provider got is understood by the client, whole and as a stream.
 */
import { assert, assertEquals } from "../support/assert.ts";
import * as fc from "../support/property.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { noTokens } from "../../core/billing/tokens/token_bounds.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import type { Answer, AnswerBlock } from "../../core/wire/conversation/mod.ts";
import { convertAnswer, convertRequest } from "../../core/wire/convert/convert.ts";
import { createConvertingPipe } from "../../core/wire/convert/converting_pipe.ts";
import { dialectOf } from "../../core/wire/convert/dialects.ts";
import { eventsOfAnswer } from "../support/answer_events.ts";
import { concatBytes } from "../support/strict_client/strict_client.ts";
import { context, list, readStream, readWhole } from "./clients.ts";
import { otherStyles, styles } from "./recordings.ts";
import { fetchedFor, routes } from "./routes.ts";

/** A tool as its client declares it, and what the model gives to it. */
interface ClientTool {
  readonly name: string;
  readonly form: "function" | "custom" | "list";
  /** Arguments of a function, the text of a custom tool, or the elements of a list. */
  readonly given: string;
}

const tool: fc.Arbitrary<ClientTool> = fc.record({
  name: fc.stringMatching(/^[a-z][a-z_]{0,8}$/u),
  form: fc.constantFrom("function", "custom", "list"),
  given: fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
});

/** The forms in which clients of a style declare tools. */
const forms = (style: Style, isLegacy: boolean): readonly ClientTool["form"][] =>
  isLegacy || style === "messages" || style === "gemini"
    ? ["function"]
    : ["function", "custom", "list"];

const usage = { ...noTokens, input: 5, output: 9 };

const listSchema: JsonObject = { type: "array", items: { type: "string" } };
const textSchema: JsonObject = {
  type: "object",
  properties: { given: { type: "string" } },
  required: ["given"],
};

function declared(style: Style, { name, form }: ClientTool, isLegacy: boolean): JsonObject {
  const parameters = form === "list" ? listSchema : textSchema;
  switch (style) {
    case "messages":
      return { name, input_schema: parameters };
    case "gemini":
      return { functionDeclarations: [{ name, parametersJsonSchema: parameters }] };
    case "responses":
      return form === "custom"
        ? { type: "custom", name }
        : { type: "function", name, parameters, strict: false };
    case "chat":
      if (isLegacy) return { name, parameters };
      return form === "custom"
        ? { type: "custom", custom: { name } }
        : { type: "function", function: { name, parameters } };
  }
}

function requestOf(style: Style, tools: JsonObject[], isLegacy: boolean): JsonObject {
  switch (style) {
    case "messages":
      return { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }], tools };
    case "gemini":
      return { model: "m", contents: [{ role: "user", parts: [{ text: "Hi" }] }], tools };
    case "responses":
      return { model: "m", input: "Hi", tools };
    case "chat":
      return {
        model: "m",
        messages: [{ role: "user", content: "Hi" }],
        [isLegacy ? "functions" : "tools"]: tools,
      };
  }
}

/** A tool as the provider got it. */
interface SentTool {
  readonly name: string;
  /** The schema of its arguments; none: it takes a text. */
  readonly schema: JsonObject | undefined;
}

function sentTools(style: Style, body: JsonObject): SentTool[] {
  const declarations = style === "gemini"
    ? list(body["tools"]).flatMap(({ functionDeclarations }) => list(functionDeclarations))
    : list(body["tools"]);
  return declarations.map((declaration) => {
    const nested = declaration["function"] ?? declaration["custom"] ?? declaration;
    assert(isJsonObject(nested));
    const schema = [
      nested["parameters"],
      nested["input_schema"],
      nested["parametersJsonSchema"],
    ].find(isJsonObject);
    return { name: String(nested["name"]), schema };
  });
}

/** Arguments that obey a schema and say `given`. */
function obeying(schema: JsonObject, given: string): Json {
  const type = String(schema["type"]).toLowerCase();
  if (type === "string") return given;
  if (type === "array") return [given];
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      assert(isJsonObject(property), JSON.stringify(schema));
      return [name, obeying(property, given)];
    }),
  );
}

function called({ name, schema }: SentTool, given: string, number: number): AnswerBlock {
  const id = `call_${number}`;
  const input = schema === undefined
    ? { kind: "text" as const, text: given }
    : { kind: "json_text" as const, text: JSON.stringify(obeying(schema, given)) };
  return { type: "tool_call", path: "", id, name, input };
}

/** Name and input of each call, as the client reads them. */
function heard(style: Style, answer: JsonObject, isLegacy: boolean): (readonly [Json, Json])[] {
  const pair = (call: JsonObject): [Json, Json] => {
    const { name = null, input, arguments: text, args } = call;
    return [name, typeof text === "string" ? JSON.parse(text) : input ?? args ?? null];
  };
  switch (style) {
    case "messages":
      return list(answer["content"]).filter(({ type }) => type === "tool_use").map(pair);
    case "responses":
      return list(answer["output"]).filter(({ type }) => String(type).endsWith("_call")).map(pair);
    case "gemini": {
      const content = list(answer["candidates"])[0]?.["content"];
      return list(isJsonObject(content) ? content["parts"] : []).flatMap(({ functionCall }) =>
        isJsonObject(functionCall) ? [pair(functionCall)] : []
      );
    }
    case "chat": {
      const message = list(answer["choices"])[0]?.["message"];
      const { tool_calls, function_call } = isJsonObject(message) ? message : {};
      if (isLegacy) return isJsonObject(function_call) ? [pair(function_call)] : [];
      return list(tool_calls).map((call) => {
        const nested = call["function"] ?? call["custom"];
        assert(isJsonObject(nested), "a call of either form");
        return pair(nested);
      });
    }
  }
}

function expected({ name, form, given }: ClientTool): [Json, Json] {
  return [name, form === "custom" ? given : form === "list" ? [given] : { given }];
}

for (const from of styles) {
  for (const to of otherStyles(from)) {
    for (const isLegacy of from === "chat" ? [false, true] : [false]) {
      const whose = isLegacy ? "a client of Chat's functions" : `a ${from} client`;
      Deno.test(`${whose} gets what a ${to} model gives to its tools`, () => {
        const kinds = forms(from, isLegacy);
        const tools = fc.uniqueArray(
          tool.filter(({ form }) => kinds.includes(form)),
          { minLength: 1, maxLength: isLegacy ? 1 : 4, selector: ({ name }) => name },
        );
        const property = fc.property(
          tools,
          fc.constantFrom(...routes[to]),
          fc.array(fc.nat(30), { maxLength: 4 }),
          (offered, capabilities, cuts) => {
            const declarations = offered.map((one) => declared(from, one, isLegacy));
            const conversion = convertRequest(from, to, requestOf(from, declarations, isLegacy), {
              capabilities,
              upstreamModel: "up-1",
              maxOutputTokens: 32_000,
              ...fetchedFor(to),
            });
            if (!conversion.ok) throw conversion.error;
            const { body, memory } = conversion.request;
            const sent = sentTools(to, body);
            assertEquals(sent.length, offered.length, JSON.stringify(body));
            const blocks = sent.map((one, i) => called(one, offered[i]?.given ?? "", i));
            const answer: Answer = { blocks, stop: { reason: "tool_calls" }, usage };
            const wanted = offered.map(expected);
            const said = dialectOf(to).encodeAnswer(answer, context, {});
            const whole = readWhole(from, convertAnswer(to, from, said, context, memory));
            assertEquals(heard(from, whole, isLegacy), wanted);

            const encoder = dialectOf(to).createStreamEncoder(context, {});
            const pipe = createConvertingPipe(to, from, context, memory);
            const chunks = eventsOfAnswer(answer, cuts, [])
              .map((event) => pipe.push(new TextEncoder().encode(encoder.encode(event))));
            const outcome = readStream(from, concatBytes([...chunks, pipe.end()]));
            assert(outcome.kind === "answer", JSON.stringify(outcome));
            assertEquals(heard(from, outcome.answer, isLegacy), wanted);
          },
        );
        fc.assert(property, { numRuns: 100 });
      });
    }
  }
}
