/** The name of a tool is already output: a client that leaves after it pays. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { chunk, chunkedHead, styles, UnrulyWorld } from "../../../support/worlds/unruly_world.ts";
import { until } from "../../../support/until.ts";

const call = { type: "function", function: { name: "spam", arguments: "" } };
const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "spam", arguments: "" };
const message = { id: "m", type: "message", role: "assistant", model: "m", content: [] };

/** What a stream begins with that calls a tool, up to the name. */
const beginnings: Record<BodyStyle, readonly Record<string, unknown>[]> = {
  chat: [{ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "c_1", ...call }] } }] }],
  messages: [
    {
      type: "message_start",
      message: { ...message, usage: { input_tokens: 7, output_tokens: 1 } },
    },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "toolu_1", name: "spam", input: {} },
    },
  ],
  responses: [
    { type: "response.created", response: { id: "r", object: "response", output: [] } },
    { type: "response.output_item.added", output_index: 0, item },
  ],
};

function told(style: BodyStyle): string {
  return beginnings[style].map((event) => {
    const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  }).join("");
}

const options = { sanitizeOps: false, sanitizeResources: false };

for (const upstreamStyle of styles) {
  // A Chat stream may go on with the name, so another style is told of it later.
  const callers = upstreamStyle === "chat" ? (["chat"] as const) : styles;
  Deno.test(
    `${upstreamStyle}: a client that leaves with the name of a tool pays for the call`,
    options,
    async () => {
      await using world = await UnrulyWorld.open({
        upstreamStyle,
        providers: {
          a: async (conversation) => {
            await conversation.say(
              chunkedHead() + new TextDecoder().decode(chunk(told(upstreamStyle))),
            );
            await conversation.clientGone();
          },
        },
      });
      for (const style of callers) {
        const answer = await world.call(style, true, (text) => !text.includes("spam"));
        assert(answer.text.includes("spam"), "the tool was named");
      }
      // Settled a moment after the client has left.
      await until(
        async () => (await world.receipts()).length === callers.length,
        "every call has its receipt",
      );
      for (const receipt of await world.receipts()) {
        assertEquals(receipt.outcome, "client_gone");
        assert(receipt.costMicroVnd > 0n, `${receipt.style}: had for nothing`);
      }
      await world.checkBooks(callers.length);
    },
  );
}
