/** Usage in disjoint buckets, whatever way it is reported (docs/internals/WIRE_FORMATS.md#usage). */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { billedInputTokens } from "../../../../core/billing/tokens/token_bounds.ts";
import { readAnswer } from "../../../../core/wire/mod.ts";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import { convertedAnswer } from "./converting.ts";

const count = fc.integer({ min: 0, max: 1_000_000 });

const messagesBody = (usage: JsonObject): JsonObject => ({
  type: "message",
  content: [{ type: "text", text: "a" }],
  stop_reason: "end_turn",
  usage,
});
const chatBody = (usage: JsonObject): JsonObject => ({
  choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }],
  usage,
});

Deno.test("Messages to Chat: the prompt holds all input, the total is the sum", () => {
  fc.assert(fc.property(count, count, count, count, (input, read, write, output) => {
    const body = messagesBody({
      input_tokens: input,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: write,
      output_tokens: output,
    });
    const { usage } = convertedAnswer("messages", "chat", body);
    assert(isJsonObject(usage) && isJsonObject(usage.prompt_tokens_details));
    assertEquals(usage.prompt_tokens, input + read + write);
    assertEquals(usage.total_tokens, input + read + write + output);
    assertEquals(usage.prompt_tokens_details.cached_tokens, read);
    assertEquals(usage.prompt_tokens_details.cache_write_tokens, write);
  }));
});

Deno.test("Chat to Messages: buckets are disjoint and sum to the prompt, also where vendors overlap them", () => {
  fc.assert(fc.property(count, count, count, count, (prompt, cached, written, completion) => {
    const body = chatBody({
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    });
    const { usage } = convertedAnswer("chat", "messages", body);
    assert(isJsonObject(usage));
    const [input, read, write] = [
      Number(usage.input_tokens),
      Number(usage.cache_read_input_tokens),
      Number(usage.cache_creation_input_tokens),
    ];
    assert(input >= 0 && read >= 0 && write >= 0);
    assertEquals(input + read + write, prompt);
    assertEquals(usage.output_tokens, completion);
  }));
});

Deno.test("what the client is told sums to what is billed, there and back", () => {
  fc.assert(
    fc.property(count, count, count, count, count, (input, read, write, output, thought) => {
      const body = messagesBody({
        input_tokens: input,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: write,
        output_tokens: output,
        output_tokens_details: { thinking_tokens: Math.min(thought, output) },
      });
      const billed = readAnswer("messages", body).usage;
      const told = readAnswer("chat", convertedAnswer("messages", "chat", body)).usage;
      assert(billed !== undefined);
      assertEquals(told, billed);
      assertEquals(billedInputTokens(billed), input + read + write);
    }),
  );
});

Deno.test("no usage is no usage for Chat clients and zeros for Messages clients, which need the members", () => {
  const { usage: _, ...chat } = chatBody({});
  const { usage: _again, ...messages } = messagesBody({});
  assertEquals(convertedAnswer("messages", "chat", messages).usage, undefined);
  const { usage } = convertedAnswer("chat", "messages", chat);
  assertEquals(isJsonObject(usage) && usage.input_tokens, 0);
});
