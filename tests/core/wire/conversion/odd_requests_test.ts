/** Requests in the forms of other vendors than the style's own: read as what they mean. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { chatDialect } from "../../../../core/wire/chat/dialect.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, refusal } from "./converting.ts";

const user: JsonObject = { role: "user", content: "Hi" };
const f: JsonObject = {
  name: "f",
  description: "d",
  parameters: { type: "object", properties: {} },
};
const tools: JsonObject[] = [{ type: "function", function: f }];
const chat = (more: JsonObject): JsonObject => ({ model: "m", messages: [user], ...more });
const asked = (content: Json): JsonObject => chat({ messages: [{ role: "user", content }] });

Deno.test("thinking among the words of the assistant is reasoning, and is told once", () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "Hm." }], closed: true };
  const said: JsonObject = {
    role: "assistant",
    content: [thinking, { type: "text", text: "Yes." }],
  };
  const request = chat({ messages: [user, said, { role: "user", content: "More" }] });
  const { body, dropped } = accepted("chat", "messages", request);
  assertEquals(dropped, []);
  assertEquals((body.messages as JsonObject[])[1]!.content, "Yes.");
  const { turns } = chatDialect.decodeRequest(request);
  assertEquals(turns[1]!.blocks.map((block) => [block.type, "text" in block && block.text]), [
    ["reasoning", "Hm."],
    ["text", "Yes."],
  ]);
  const both = { ...said, reasoning_content: "Hm." };
  const twice = chat({ messages: [user, both, { role: "user", content: "More" }] });
  assertEquals(accepted("chat", "messages", twice).body, body);
});

Deno.test("numbers of sources among the words of the assistant are named, not refused", () => {
  const said = [{ type: "text", text: "Yes" }, { type: "reference", reference_ids: [1] }];
  const messages = [user, { role: "assistant", content: said }, { role: "user", content: "More" }];
  for (const to of ["messages", "responses"] as const) {
    const { body, dropped } = accepted("chat", to, chat({ messages }));
    assertEquals(dropped, ["messages.1.content.1"]);
    assert(JSON.stringify(body).includes('"Yes"'));
  }
});

Deno.test("a choice is read in the words and shapes of other vendors", () => {
  const choices: readonly (readonly [Json, Json, Json])[] = [
    ["any", { type: "any" }, "required"],
    [{ function: { name: "f" } }, { type: "tool", name: "f" }, { type: "function", name: "f" }],
    [{ type: "function", name: "f" }, { type: "tool", name: "f" }, { type: "function", name: "f" }],
    [{ name: "f" }, { type: "tool", name: "f" }, { type: "function", name: "f" }],
  ];
  for (const [tool_choice, messages, responses] of choices) {
    const request = chat({ tools, tool_choice });
    for (const [to, expected] of [["messages", messages], ["responses", responses]] as const) {
      const { body, dropped } = accepted("chat", to, request);
      assertEquals([body.tool_choice, dropped], [expected, []], JSON.stringify(tool_choice));
    }
  }
  assertEquals(refusal("chat", "messages", chat({ tools, tool_choice: {} })).param, "tool_choice");
  assertEquals(
    refusal("chat", "messages", chat({ tools, tool_choice: { type: "tool" } })).param,
    "tool_choice",
  );
  const input = { model: "m", input: "Hi", tools: [{ type: "function", ...f }] };
  assertEquals(
    accepted("responses", "messages", { ...input, tool_choice: "any" }).body.tool_choice,
    { type: "any" },
  );
  assertEquals(
    accepted("responses", "chat", { ...input, tool_choice: { name: "f" } }).body.tool_choice,
    { type: "function", function: { name: "f" } },
  );
});

Deno.test("documents come by URL in the shapes of several vendors", () => {
  const url = "https://example.com/a";
  const data = "data:application/pdf;base64,JVBERg==";
  const base64 = { type: "base64", media_type: "application/pdf", data: "JVBERg==" };
  const byUrl = { type: "url", url };
  const parts: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ type: "document_url", document_url: url, document_name: "A" }, {
      source: byUrl,
      title: "A",
    }],
    [{ type: "document_url", document_url: { url } }, { source: byUrl }],
    [{ type: "document_url", document_url: data }, { source: base64 }],
    [{ type: "file_url", file_url: { url } }, { source: byUrl }],
    [{ type: "file_url", file_url: url }, { source: byUrl }],
    [{ type: "file", file: { file_url: url } }, { source: byUrl }],
    [{ type: "file", file: { file_data: url, filename: "a.pdf" } }, {
      source: byUrl,
      title: "a.pdf",
    }],
    [{ type: "file", file: { file_data: "JVBERg==", filename: "a.pdf" } }, {
      source: base64,
      title: "a.pdf",
    }],
  ];
  for (const [part, expected] of parts) {
    const { body, dropped } = accepted("chat", "messages", asked([part]));
    const [block] = (body.messages as JsonObject[])[0]!.content as JsonObject[];
    assertEquals([block, dropped], [{ type: "document", ...expected }, []], JSON.stringify(part));
  }
  // A Responses model takes a URL without a name: the name is named where the client wrote it.
  const names: readonly (readonly [JsonObject, string])[] = [
    [{ type: "document_url", document_url: url, document_name: "A" }, "document_name"],
    [{ type: "file", file: { file_data: url, filename: "a.pdf" } }, "file.filename"],
  ];
  for (const [part, member] of names) {
    const { dropped } = accepted("chat", "responses", asked([part]));
    assertEquals(dropped, [`messages.0.content.0.${member}`]);
  }
  const wrong = asked([{ type: "document_url", document_url: "gopher://x" }]);
  assertEquals(refusal("chat", "messages", wrong).param, "messages.0.content.0.document_url");
});

Deno.test("the effort `default` leaves it to the model, `none` switches thinking off", () => {
  for (const to of ["messages", "responses"] as const satisfies readonly Style[]) {
    const plain = accepted("chat", to, chat({})).body;
    for (const more of [{ reasoning_effort: "default" }, { reasoning: { effort: "default" } }]) {
      const { body, dropped } = accepted("chat", to, chat(more));
      assertEquals([body, dropped], [plain, []]);
    }
  }
  const off = accepted("chat", "messages", chat({ reasoning_effort: "none" })).body;
  assertEquals(off.thinking, { type: "disabled" });
  const responses = { model: "m", input: "Hi" };
  assertEquals(
    accepted("responses", "chat", { ...responses, reasoning: { effort: "default" } }),
    accepted("responses", "chat", responses),
  );
});

Deno.test("a file in a tool's result is told by its name where it must stand outside", () => {
  const source = { type: "base64", media_type: "application/pdf", data: "JVBERg==" };
  const document = (title: string) => ({ type: "document", source, title });
  const request = {
    model: "m",
    max_tokens: 100,
    messages: [
      user,
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "f", input: {} }] },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [document("Plan.pdf"), document("Bill.pdf")],
        }],
      },
    ],
  };
  const { body } = accepted("messages", "chat", request);
  const messages = body.messages as JsonObject[];
  const told = messages.find((message) => message.role === "tool")!.content;
  assertEquals(JSON.stringify(told).match(/file \w+\.pdf/g), ["file Plan.pdf", "file Bill.pdf"]);
  const names = JSON.stringify(messages.at(-1)).match(/"filename":"[^"]*"/g);
  assertEquals(names, ['"filename":"Plan.pdf"', '"filename":"Bill.pdf"']);
});
