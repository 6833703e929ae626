/** What a client may ask, written in each style by hand: the matrix must not depend on the code that it is about. */
import type { Style } from "../../../core/wire/contract/contract.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";

/** A request, in no style. */
export interface Ask {
  readonly system?: boolean;
  readonly image?: boolean;
  readonly pdf?: boolean;
  /** Tools `f` and `g`. */
  readonly tools?: boolean;
  readonly choice?: "any" | "f" | "none";
  readonly oneAtATime?: boolean;
  readonly schema?: boolean;
  readonly thinking?: boolean;
  /** A turn in which the model called these tools, and their results. */
  readonly called?: readonly string[];
  readonly bounds?: boolean;
}

export const words = { system: "Be brief.", text: "What is this?", result: "It is" };
export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
export const pdf = btoa("%PDF-1.4 matrix");
export const schema: JsonObject = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const toolNames = ["f", "g"] as const;
const call = (name: string, at: number) => ({ id: `call_${at}`, name, args: { a: at } });
const none: JsonObject = {};
const when = (is: unknown, value: JsonObject): JsonObject => is === undefined ? none : value;

/** Writes a request in the style of a client, who sends it to the model `m`. */
export const writers: Readonly<Record<Style, (ask: Ask) => JsonObject>> = {
  messages: (ask) => {
    const calls = ask.called?.map(call) ?? [];
    const type = { any: "any", f: "tool", none: "none" }[ask.choice ?? "any"];
    return {
      model: "m",
      max_tokens: ask.bounds ? 77 : 9_000,
      ...when(ask.system, { system: words.system }),
      messages: [
        {
          role: "user",
          content: [
            ...ask.image
              ? [{ type: "image", source: { type: "base64", media_type: "image/png", data: png } }]
              : [],
            ...ask.pdf
              ? [{
                type: "document",
                source: { type: "base64", media_type: "application/pdf", data: pdf },
              }]
              : [],
            { type: "text", text: words.text },
          ],
        },
        ...calls.length === 0 ? [] : [{
          role: "assistant",
          content: calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
        }, {
          role: "user",
          content: calls.map(({ id, name }) => ({
            type: "tool_result",
            tool_use_id: id,
            content: `${words.result} ${name}`,
          })),
        }],
      ],
      ...when(ask.tools, {
        tools: toolNames.map((name) => ({ name, input_schema: schema })),
      }),
      ...when(ask.choice ?? ask.oneAtATime, {
        tool_choice: {
          type: ask.choice === undefined ? "auto" : type,
          ...(ask.choice === "f" ? { name: "f" } : {}),
          ...(ask.oneAtATime ? { disable_parallel_tool_use: true } : {}),
        },
      }),
      ...when(ask.thinking, { thinking: { type: "adaptive" } }),
      ...when(ask.thinking ?? ask.schema, {
        output_config: {
          ...(ask.thinking ? { effort: "high" } : {}),
          ...(ask.schema ? { format: { type: "json_schema", schema } } : {}),
        },
      }),
      ...when(ask.bounds, { stop_sequences: ["END"], temperature: 0.5 }),
    };
  },
  chat: (ask) => {
    const calls = ask.called?.map(call) ?? [];
    return {
      model: "m",
      ...when(ask.bounds, { max_completion_tokens: 77, stop: ["END"], temperature: 0.5 }),
      messages: [
        ...ask.system ? [{ role: "system", content: words.system }] : [],
        {
          role: "user",
          content: [
            ...ask.image
              ? [{ type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }]
              : [],
            ...ask.pdf
              ? [{
                type: "file",
                file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` },
              }]
              : [],
            { type: "text", text: words.text },
          ],
        },
        ...calls.length === 0 ? [] : [
          {
            role: "assistant",
            tool_calls: calls.map(({ id, name, args }) => ({
              id,
              type: "function",
              function: { name, arguments: JSON.stringify(args) },
            })),
          },
          ...calls.map(({ id, name }) => ({
            role: "tool",
            tool_call_id: id,
            content: `${words.result} ${name}`,
          })),
        ],
      ],
      ...when(ask.tools, {
        tools: toolNames.map((name) => ({
          type: "function",
          function: { name, parameters: schema },
        })),
      }),
      ...when(ask.choice, {
        tool_choice: ask.choice === "f"
          ? { type: "function", function: { name: "f" } }
          : ask.choice === "any"
          ? "required"
          : "none",
      }),
      ...when(ask.oneAtATime, { parallel_tool_calls: false }),
      ...when(ask.thinking, { reasoning_effort: "high" }),
      ...when(ask.schema, {
        response_format: {
          type: "json_schema",
          json_schema: { name: "answer", strict: true, schema },
        },
      }),
    };
  },
  responses: (ask) => {
    const calls = ask.called?.map(call) ?? [];
    return {
      model: "m",
      ...when(ask.bounds, { max_output_tokens: 77, temperature: 0.5 }),
      ...when(ask.system, { instructions: words.system }),
      input: [
        {
          role: "user",
          content: [
            ...ask.image
              ? [{ type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" }]
              : [],
            ...ask.pdf
              ? [{
                type: "input_file",
                filename: "a.pdf",
                file_data: `data:application/pdf;base64,${pdf}`,
              }]
              : [],
            { type: "input_text", text: words.text },
          ],
        },
        ...calls.map(({ id, name, args }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: JSON.stringify(args),
        })),
        ...calls.map(({ id, name }) => ({
          type: "function_call_output",
          call_id: id,
          output: `${words.result} ${name}`,
        })),
      ],
      ...when(ask.tools, {
        tools: toolNames.map((name) => ({
          type: "function",
          name,
          parameters: schema,
          strict: true,
        })),
      }),
      ...when(ask.choice, {
        tool_choice: ask.choice === "f"
          ? { type: "function", name: "f" }
          : ask.choice === "any"
          ? "required"
          : "none",
      }),
      ...when(ask.oneAtATime, { parallel_tool_calls: false }),
      ...when(ask.thinking, { reasoning: { effort: "high" } }),
      ...when(ask.schema, {
        text: { format: { type: "json_schema", name: "answer", strict: true, schema } },
      }),
    };
  },
  gemini: (ask) => {
    const calls = ask.called?.map(call) ?? [];
    const mode = ask.choice === "none" ? "NONE" : "ANY";
    return {
      model: "m",
      ...when(ask.system, { systemInstruction: { parts: [{ text: words.system }] } }),
      contents: [
        {
          role: "user",
          parts: [
            ...ask.image ? [{ inlineData: { mimeType: "image/png", data: png } }] : [],
            ...ask.pdf ? [{ inlineData: { mimeType: "application/pdf", data: pdf } }] : [],
            { text: words.text },
          ],
        },
        ...calls.length === 0 ? [] : [{
          role: "model",
          parts: calls.map((functionCall) => ({ functionCall })),
        }, {
          role: "user",
          parts: calls.map(({ id, name }) => ({
            functionResponse: { id, name, response: { output: `${words.result} ${name}` } },
          })),
        }],
      ],
      ...when(ask.tools, {
        tools: [{
          functionDeclarations: toolNames.map((name) => ({ name, parametersJsonSchema: schema })),
        }],
      }),
      ...when(ask.choice, {
        toolConfig: {
          functionCallingConfig: {
            mode,
            ...(ask.choice === "f" ? { allowedFunctionNames: ["f"] } : {}),
          },
        },
      }),
      generationConfig: {
        ...when(ask.bounds, { maxOutputTokens: 77, stopSequences: ["END"], temperature: 0.5 }),
        ...when(ask.thinking, {
          thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" },
        }),
        ...when(ask.schema, {
          responseMimeType: "application/json",
          responseJsonSchema: schema,
        }),
      },
    };
  },
};
