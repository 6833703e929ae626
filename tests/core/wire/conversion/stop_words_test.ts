/** How answers end: each word of a provider, in each style, whole and streamed, converted and native. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import type { ProviderStyle, Style } from "../../../../core/wire/contract/contract.ts";
import { pipeText } from "../native/piping.ts";
import { convertedAnswer } from "./converting.ts";
import { clientStyles, providerStyles, streamedAnswer, wholeAnswer } from "./provider_answers.ts";
import { streamed } from "./streaming.ts";

/** How each client style writes the ends; an unknown one has its name in it. */
const written: Readonly<Record<Style, Readonly<Record<"length" | "refusal" | "regular", RegExp>>>> =
  {
    chat: {
      length: /"finish_reason":"length"/,
      refusal: /"finish_reason":"content_filter"/,
      regular: /"finish_reason":"(?:stop|tool_calls)"/,
    },
    messages: {
      length: /"stop_reason":"max_tokens"/,
      refusal: /"stop_reason":"refusal"/,
      regular: /"stop_reason":"(?:end_turn|tool_use)"/,
    },
    responses: {
      length: /"reason":"max_output_tokens"/,
      refusal: /"reason":"content_filter"/,
      regular: /"object":"response"[^\n]*"status":"completed"[^\n]*"incomplete_details":null/,
    },
    gemini: {
      length: /"finishReason":"MAX_TOKENS"/,
      refusal: /"finishReason":"SAFETY"/,
      regular: /"finishReason":"STOP"/,
    },
  };

const lengths = ["model_length", "model_context_window_exceeded", "length", "MAX_TOKENS"];
const refusals = ["sensitive", "content_filter", "SAFETY", "guardrail_intervened", "SPII"];
const failures = [
  "error",
  "network_error",
  "insufficient_system_resource",
  "abort",
  "cancelled",
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "NO_IMAGE",
  "malformed_tool_use",
];
const unknown = ["OTHER", "made_up", "A_NEW_REASON"];

/** The answer of a provider for a client of each style, whole and streamed. */
function* told(
  provider: ProviderStyle,
  reason: string,
): Generator<{ readonly client: Style; readonly text: string; readonly name: string }> {
  for (const client of clientStyles) {
    if (client === provider) continue;
    const whole = wholeAnswer(provider, { text: "Half", reason });
    const name = `${provider} to ${client}: ${reason}`;
    yield { client, text: JSON.stringify(convertedAnswer(provider, client, whole)), name };
    const { text } = streamed(
      provider,
      client,
      streamedAnswer(provider, { text: "Half", reason }).join(""),
    );
    yield { client, text, name: `${name}, streamed` };
  }
}

Deno.test("a cut answer and a refusal are told as such, whatever provider's word says it", () => {
  for (const provider of providerStyles) {
    for (const [kind, words] of [["length", lengths], ["refusal", refusals]] as const) {
      for (const word of words) {
        for (const { client, text, name } of told(provider, word)) {
          assert(written[client][kind].test(text), `${name}: ${text}`);
          assert(!written[client].regular.test(text), `${name}: ${text}`);
        }
      }
    }
  }
});

Deno.test("an end that nobody knows is passed on by name, never as a regular one", () => {
  for (const provider of providerStyles) {
    for (const word of unknown) {
      for (const { client, text, name } of told(provider, word)) {
        assert(text.includes(word), `${name}: ${text}`);
        assert(!written[client].regular.test(text), `${name}: ${text}`);
      }
    }
  }
});

Deno.test("an answer that its provider calls failed is an error, native and converted", () => {
  for (const provider of providerStyles) {
    for (const reason of failures) {
      const answer = { text: "Half", reason };
      const whole = wholeAnswer(provider, answer);
      assertEquals(readAnswer(provider, whole).error?.code, "upstream_unreachable", reason);
      const frames = streamedAnswer(provider, answer).join("");
      for (const client of clientStyles) {
        const name = `${provider} to ${client}: ${reason}`;
        if (client === provider) {
          const { reading, passed, ending } = pipeText(client, frames);
          assertEquals(reading.state, "error", name);
          assert(!(passed + ending).includes(reason) || ending.includes(reason), passed);
        } else {
          assertThrows(() => convertedAnswer(provider, client, whole), GatewayError);
          const { reading, text } = streamed(provider, client, frames);
          assertEquals(reading.state, "error", name);
          assert(!written[client].regular.test(text), `${name}: ${text}`);
        }
      }
    }
  }
});

Deno.test("an unknown end without any output is no answer", () => {
  for (const provider of providerStyles) {
    for (const reason of unknown) {
      const answer = { text: "", reason };
      assert(readAnswer(provider, wholeAnswer(provider, answer)).error !== undefined, provider);
      const frames = streamedAnswer(provider, answer).join("");
      for (const client of clientStyles) {
        const { reading } = client === provider
          ? pipeText(client, frames)
          : streamed(provider, client, frames);
        assertEquals(reading.state, "error", `${provider} to ${client}: ${reason}`);
      }
    }
  }
});

Deno.test("with several choices, an answer of which one is good is used", () => {
  const choice = (index: number, finish_reason: string) => ({
    index,
    message: { role: "assistant", content: "a" },
    finish_reason,
  });
  const mixed = { choices: [choice(0, "error"), choice(1, "stop")] };
  assertEquals(readAnswer("chat", mixed).error, undefined);
  const failed = { choices: [choice(0, "error"), choice(1, "error")] };
  assert(readAnswer("chat", failed).error !== undefined);
});

Deno.test("only failures of the provider itself are the route's, not those of what the model wrote", () => {
  for (const [reason, marks] of [["network_error", "route"], ["NO_IMAGE", "nothing"]] as const) {
    const whole = wholeAnswer("chat", { text: "Half", reason });
    assertEquals(readAnswer("chat", whole).error?.marks, marks, reason);
  }
});
