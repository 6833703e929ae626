/** The line of Claude Code's accounting is no part of a prompt: no other vendor gets it, and nothing is named. */
import type { Json } from "../../../../core/lib/json/json.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { accepted } from "./converting.ts";

const line = "x-anthropic-billing-header: cc_version=2.1.117.48f; cc_entrypoint=cli; cch=71fea;";
const text = (text: string) => ({ type: "text", text });

const forms: Readonly<Record<string, Json>> = {
  "a block": [text(line), text("Be brief."), text("Be kind.")],
  "a block with a cache mark": [
    { ...text(line), cache_control: { type: "ephemeral" } },
    text("Be brief."),
  ],
  "a later block": [text("Be brief."), text(line)],
  "the first line of a block": [text(`${line}\nBe brief.`)],
  "the first line of a text": `${line}\nBe brief.`,
  "all instructions": line,
};

Deno.test("the billing line goes to no other vendor, and the rest of the instructions does", () => {
  for (const to of ["chat", "responses", "gemini", "converse"] as const) {
    for (const [what, system] of Object.entries(forms)) {
      const messages = [{ role: "user", content: "Hi" }];
      const { body, dropped } = accepted("messages", to, {
        model: "m",
        max_tokens: 4_000,
        system,
        messages,
      });
      const sent = JSON.stringify(body);
      assert(!sent.includes("billing-header") && !sent.includes("cch="), `${to}, ${what}: ${sent}`);
      assertEquals(sent.includes("Be brief."), system !== line, `${to}, ${what}: ${sent}`);
      assertEquals(dropped, [], `${to}, ${what}`);
    }
  }
});

Deno.test("a text that only mentions the line is carried", () => {
  const messages = [{ role: "user", content: line }];
  const system = `What does ${line} mean?`;
  const { body } = accepted("messages", "chat", {
    model: "m",
    max_tokens: 4_000,
    system,
    messages,
  });
  assertEquals(body["messages"], [{ role: "system", content: system }, messages[0]!]);
});
