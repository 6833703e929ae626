/** Tools of Messages clients that are found, added or removed in the course of a conversation, as Claude Code does. */
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { accepted, type Converted, refusal } from "./converting.ts";

const targets = ["chat", "responses", "gemini", "converse"] as const;

const schema = (property: string): JsonObject => ({
  type: "object",
  properties: { [property]: { type: "string" } },
});
const search: JsonObject = { name: "ToolSearch", input_schema: schema("query") };
const deferred = (name: string): JsonObject => ({
  name,
  description: `does ${name}`,
  input_schema: schema("a"),
  defer_loading: true,
});
const tools = [search, deferred("mail"), deferred("calendar")];

const user = (content: Json): JsonObject => ({ role: "user", content });
const searched = (...found: string[]): JsonObject[] => [
  user("Write a mail"),
  {
    role: "assistant",
    content: [{ type: "tool_use", id: "toolu_1", name: "ToolSearch", input: { query: "mail" } }],
  },
  user([{
    type: "tool_result",
    tool_use_id: "toolu_1",
    content: found.map((name) => ({ type: "tool_reference", tool_name: name })),
  }]),
];
const change = (type: "tool_addition" | "tool_removal", name: string): JsonObject => ({
  type,
  tool: { type: "tool_reference", name },
});
const defined = (definition: JsonObject): JsonObject => ({
  type: "tool_addition",
  tool: { type: "tool_definition", definition },
});
const instruct = (...content: JsonObject[]): JsonObject => ({ role: "system", content });
const answer: JsonObject = { role: "assistant", content: "Yes" };

function send(to: ProviderStyle, messages: JsonObject[], more: JsonObject = {}): Converted {
  return accepted("messages", to, { model: "m", max_tokens: 4_000, tools, messages, ...more });
}

/** The names of the tools that a converted request offers, in any style. */
function offered({ body }: Converted): string[] {
  const names: string[] = [];
  const walk = (value: Json | undefined): void => {
    if (Array.isArray(value)) return value.forEach(walk);
    if (!isJsonObject(value)) return;
    if (typeof value["name"] === "string") names.push(value["name"]);
    else Object.values(value).forEach(walk);
  };
  const { tools, toolConfig } = body;
  walk(tools ?? (isJsonObject(toolConfig) ? toolConfig["tools"] : undefined));
  return names;
}

/** What the conversation says, and the tools that the model may call at its end. */
const conversations: Readonly<
  Record<string, readonly [messages: JsonObject[], offered: string[], more?: JsonObject]>
> = {
  "nothing found": [[user("Hi")], ["ToolSearch"]],
  "a search found one": [searched("mail"), ["ToolSearch", "mail"]],
  "a search found both": [searched("calendar", "mail"), ["ToolSearch", "mail", "calendar"]],
  "a search found one that is not there": [searched("phone"), ["ToolSearch"]],
  "an instruction adds one": [
    [user("Hi"), instruct(change("tool_addition", "mail")), answer, user("Go on")],
    ["ToolSearch", "mail"],
  ],
  "an instruction removes what a search found": [
    [...searched("mail", "calendar"), instruct(change("tool_removal", "mail"))],
    ["ToolSearch", "calendar"],
  ],
  "removed, then added": [
    [
      ...searched("mail"),
      instruct(change("tool_removal", "mail")),
      answer,
      user("Go on"),
      instruct(change("tool_addition", "mail")),
    ],
    ["ToolSearch", "mail"],
  ],
  "a tool that is not deferred is removed": [
    [user("Hi"), instruct(change("tool_removal", "ToolSearch"), change("tool_addition", "mail"))],
    ["mail"],
  ],
  "an instruction defines one": [
    [
      user("Hi"),
      instruct({ type: "text", text: "New." }, defined({ name: "phone", input_schema: {} })),
    ],
    ["ToolSearch", "phone"],
  ],
  "the vendor's own search found one": [
    [user("Hi"), {
      role: "assistant",
      content: [
        {
          type: "server_tool_use",
          id: "srvtoolu_1",
          name: "tool_search_tool_regex",
          input: { query: "mail" },
        },
        {
          type: "tool_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: {
            type: "tool_search_tool_search_result",
            tool_references: [{ type: "tool_reference", tool_name: "mail" }],
          },
        },
        { type: "text", text: "Found." },
      ],
    }, user("Go on")],
    ["ToolSearch", "mail"],
  ],
  "called, after the search was cut from the history": [
    [
      user("Hi"),
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_2", name: "mail", input: {} }],
      },
      user([{ type: "tool_result", tool_use_id: "toolu_2", content: "sent" }]),
    ],
    ["ToolSearch", "mail"],
  ],
  "the choice names it": [
    [user("Hi")],
    ["ToolSearch", "mail"],
    { tool_choice: { type: "tool", name: "mail" } },
  ],
};

Deno.test("a deferred tool is offered once it is loaded, and additions and removals are applied", () => {
  for (const to of targets) {
    for (const [what, [messages, expected, more]] of Object.entries(conversations)) {
      const conversion = send(to, messages, more);
      assertEquals(offered(conversion), expected, `${to}, ${what}: ${JSON.stringify(conversion)}`);
      const named = conversion.dropped.filter((field) =>
        /tool_addition|tools|\.tool\b/.test(field)
      );
      assertEquals(named, [], `${to}, ${what}`);
    }
  }
});

Deno.test("tools that only the vendor's own search could load are offered, and the search is named", () => {
  for (const kind of ["tool_search_tool_regex_20251119", "tool_search_tool_bm25_20251119"]) {
    for (const to of targets) {
      const list = [{ type: kind, name: "search" }, deferred("mail"), deferred("calendar")];
      const conversion = send(to, [user("Hi")], { tools: list });
      assertEquals(offered(conversion), ["mail", "calendar"], to);
      assert(conversion.dropped.includes("tools.0"), `${to}: ${conversion.dropped}`);
    }
  }
});

Deno.test("the model reads in words what a search found", () => {
  for (const to of targets) {
    const { body, dropped } = send(to, searched("mail", "calendar"));
    const sent = JSON.stringify(body);
    assert(sent.includes("Loaded tool: mail"), `${to}: ${sent}`);
    assert(sent.includes("Loaded tool: calendar"), `${to}: ${sent}`);
    assertEquals(dropped, [], to);
  }
});

Deno.test("the newest definition of a name counts, at its first place", () => {
  for (const to of targets) {
    const conversion = send(to, [
      user("Hi"),
      instruct(defined({ name: "mail", description: "newer", input_schema: schema("b") })),
    ]);
    assertEquals(offered(conversion), ["ToolSearch", "mail"], to);
    const sent = JSON.stringify(conversion.body);
    assert(sent.includes("newer") && !sent.includes("does mail"), `${to}: ${sent}`);
  }
});

Deno.test("a change of a tool that is not declared is named, and one of nothing is refused", () => {
  for (const to of targets) {
    for (const type of ["tool_addition", "tool_removal"] as const) {
      const unknown = instruct({ type: "text", text: "New." }, change(type, "phone"));
      assert(
        send(to, [user("Hi"), unknown]).dropped.includes("messages.1.content.1"),
        `${to}, ${type}`,
      );
      const messages = [user("Hi"), instruct({ type })];
      const { code, param } = refusal("messages", to, {
        model: "m",
        max_tokens: 4_000,
        tools,
        messages,
      });
      assertEquals([code, param], ["invalid_request", "messages.1.content.0.tool"], to);
    }
  }
});
