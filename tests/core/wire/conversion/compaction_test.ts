/** A compacted conversation keeps its memory on its way to every other style. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { targetStyles } from "../../../conformance/recordings.ts";
import { accepted } from "./converting.ts";

const summary = "The user is called An; plan B was agreed.";
const user = (content: string): JsonObject => ({ role: "user", content });
const block: JsonObject = { type: "compaction", content: summary, signature: "c2ln" };
const said: JsonObject = { type: "text", text: "Go on." };
const asking = (...messages: JsonObject[]): JsonObject => ({
  model: "m",
  max_tokens: 100,
  messages,
});

for (const to of targetStyles("messages")) {
  Deno.test(`the summary of a compacted conversation goes to ${to}, in place of what it sums up`, () => {
    for (const role of ["user", "assistant"]) {
      const compacted = { role, content: [block, said] };
      const { body, dropped } = accepted(
        "messages",
        to,
        asking(user("forgotten"), compacted, user("What is my name?")),
      );
      const sent = JSON.stringify(body);
      assert(sent.includes(summary) && sent.includes("Go on."), sent);
      assert(!sent.includes("forgotten"), "the vendor reads nothing before the summary");
      assert(dropped.includes("messages.1.content.0"), "what became text is named");
    }
  });

  Deno.test(`a compaction that failed is named on its way to ${to}, and nothing is cut`, () => {
    const failed = { role: "assistant", content: [{ type: "compaction", content: null }, said] };
    const { body, dropped } = accepted("messages", to, asking(user("kept"), failed, user("More")));
    assert(JSON.stringify(body).includes("kept"));
    assert(dropped.includes("messages.1.content.0"));
  });
}

Deno.test("only the last of several summaries is read", () => {
  const older = { role: "assistant", content: [{ type: "compaction", content: "older" }] };
  const newer = { role: "assistant", content: [block] };
  const request = asking(older, user("between"), newer, user("What is my name?"));
  const { messages } = accepted("messages", "chat", request).body;
  assertEquals(messages, [{
    role: "user",
    content: [
      { type: "text", text: `Summary of the conversation so far:\n\n${summary}` },
      { type: "text", text: "What is my name?" },
    ],
  }]);
});
