/** Sources reach the clients of all styles, whole and streamed, whatever follows the text and wherever they come. */
import { assert } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { convertedAnswer } from "../conversion/converting.ts";
import { streamed } from "../conversion/streaming.ts";

const url = "https://example.com/a";

const given: Readonly<Record<string, JsonObject>> = {
  "found by a search": {
    groundingMetadata: {
      webSearchQueries: ["one"],
      groundingChunks: [{ web: { uri: url, title: "A" } }],
      groundingSupports: [{ segment: { endIndex: 4, text: "One." }, groundingChunkIndices: [0] }],
    },
  },
  "quoted, at the vendor's own service": {
    citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 4, uri: url }] },
  },
  "quoted, at the vendor's cloud": {
    citationMetadata: { citations: [{ startIndex: 0, endIndex: 4, uri: url, title: "A" }] },
  },
};

const call = { functionCall: { name: "f", args: {} }, thoughtSignature: "c2lnbmVk" };

const followers: Readonly<Record<string, readonly JsonObject[]>> = {
  nothing: [],
  "a signature": [{ text: "", thoughtSignature: "c2lnbmVk" }],
  "a call": [call],
  "a thought": [{ text: "Hm.", thought: true }],
  "code with a signature": [
    { executableCode: { language: "PYTHON", code: "print(1)" }, thoughtSignature: "c2lnbmVk" },
    { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n" } },
  ],
};

const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 };

function frame(parts: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    candidates: [{ content: { role: "model", parts: [...parts] }, index: 0, ...more }],
    usageMetadata,
    responseId: "r1",
  };
}

Deno.test("sources of a Gemini answer reach every client, whole and streamed", () => {
  for (const client of ["messages", "chat", "responses"] as const) {
    for (const [kind, sources] of Object.entries(given)) {
      for (const [follower, parts] of Object.entries(followers)) {
        const name = `${client}, ${kind}, before ${follower}`;
        const text = { text: "One." };
        const whole = convertedAnswer(
          "gemini",
          client,
          frame([text, ...parts], { ...sources, finishReason: "STOP" }),
        );
        assert(JSON.stringify(whole).includes(url), `whole: ${name}`);
        const end = { ...sources, finishReason: "STOP" };
        const streams = [
          [frame([text]), frame(parts, end)],
          [frame([text]), ...parts.map((part) => frame([part])), frame([{ text: "" }], end)],
        ];
        for (const chunks of streams) {
          const bytes = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
          const { text: written, reading } = streamed("gemini", client, bytes);
          assert(written.includes(url), `streamed: ${name}\n${written}`);
          assert(reading.state === "completed", name);
        }
      }
    }
  }
});

Deno.test("code with a signature keeps its output", () => {
  const parts = [...followers["code with a signature"] ?? [], { text: "One." }];
  const body = frame(parts, { finishReason: "STOP" });
  const whole = JSON.stringify(convertedAnswer("gemini", "messages", body));
  const { text } = streamed("gemini", "messages", `data: ${JSON.stringify(body)}\r\n\r\n`);
  for (const written of [whole, text]) {
    assert(written.includes("print(1)") && written.includes("1\\n"), written);
  }
});

Deno.test("calls of a request without hosted tools do not wait for sources", () => {
  const chunks = [frame([{ text: "One." }]), frame([call])];
  const bytes = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
  const { early } = streamed("gemini", "messages", bytes, { memory: { withoutSources: true } });
  assert(early.includes('"type":"tool_use"'), early);
});
