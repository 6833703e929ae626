/** By what a conversation is recognised when the beginning of its prompt changes with every request. */
import { promptPrefixes } from "../../../core/calls/bounds/seen_prompts.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import { RouteAffinity } from "../../../core/routing/route_affinity.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { assert, assertEquals } from "../../support/assert.ts";

/** What agents have in the first lines, at one request. */
const changing: Readonly<Record<string, (request: number) => string>> = {
  "billing header": (n) =>
    `x-anthropic-billing-header: cc_version=2.1.${n}; cc_entrypoint=cli; cch=${"abcdef"[n]}71fe;`,
  clock: (n) => `The time is 2026-11-20 ${9 + n}:${10 + n}:07 in Hanoi.`,
  "id of a request": (n) => `request_id: 0f8fad5b-d9cb-469f-a165-7086728950${n}e`,
  "version and uptime": (n) => `agent v1.0.${n}, up ${n * 997} s`,
};

const by = (routeId: string) => ({ routeId, account: "a" });

const rules = `Edit the files of the user.\n${"Be careful with every one of them. ".repeat(200)}`;

/** A tool loop of a style: instructions and the opening, then the answers and results that each step adds. */
interface Loop {
  readonly request: (instructions: string, opening: string, steps: number) => JsonObject;
}

const call = (i: number) => ({ id: `call_${i}`, name: "read", text: `contents of file ${i}` });

const loops: Readonly<Record<Style, Loop>> = {
  messages: {
    request: (system, opening, steps) => ({
      system: [{ type: "text", text: system.slice(0, 90) }, { type: "text", text: rules }],
      messages: [
        { role: "user", content: [{ type: "text", text: opening }] },
        ...Array.from({ length: steps }, (_, i) => [
          { role: "assistant", content: [{ type: "tool_use", ...call(i), input: {} }] },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: call(i).id, content: call(i).text }],
          },
        ]).flat(),
      ],
    }),
  },
  chat: {
    request: (system, opening, steps) => ({
      messages: [
        { role: "system", content: `${system}\n${rules}` },
        { role: "user", content: opening },
        ...Array.from({ length: steps }, (_, i) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [{
              id: call(i).id,
              type: "function",
              function: { name: "read", arguments: "" },
            }],
          },
          { role: "tool", tool_call_id: call(i).id, content: call(i).text },
        ]).flat(),
      ],
    }),
  },
  responses: {
    request: (system, opening, steps) => ({
      instructions: `${system}\n${rules}`,
      input: [
        { role: "user", content: opening },
        ...Array.from({ length: steps }, (_, i) => [
          { type: "function_call", call_id: call(i).id, name: "read", arguments: "{}" },
          { type: "function_call_output", call_id: call(i).id, output: call(i).text },
        ]).flat(),
      ],
    }),
  },
  gemini: {
    request: (system, opening, steps) => ({
      systemInstruction: { parts: [{ text: `${system}\n${rules}` }] },
      contents: [
        { role: "user", parts: [{ text: opening }] },
        ...Array.from({ length: steps }, (_, i) => [
          { role: "model", parts: [{ functionCall: { id: call(i).id, name: "read", args: {} } }] },
          {
            role: "user",
            parts: [{ functionResponse: { id: call(i).id, name: "read", response: {} } }],
          },
        ]).flat(),
      ],
    }),
  },
};

const styles = Object.keys(loops) as Style[];
const prefixes = (style: Style, body: JsonObject) => promptPrefixes("m", style, body);

Deno.test("a tool loop stays on its route while the first lines change, in every style and place", () => {
  for (const style of styles) {
    for (const [what, line] of Object.entries(changing)) {
      for (const place of ["instructions", "opening", "both"]) {
        const affinity = new RouteAffinity();
        const body = (n: number) =>
          loops[style].request(
            place === "opening" ? "Steady." : line(n),
            `${place === "instructions" ? "" : line(n)}\nAlpha becomes beta.`,
            n,
          );
        affinity.note("k", prefixes(style, body(0)), by("first"), 0);
        for (let n = 1; n <= 4; n++) {
          const prompt = prefixes(style, body(n));
          const story = `${style}, ${what} in ${place}, step ${n}`;
          assertEquals(affinity.find("k", prompt, 0)?.routeId, "first", story);
          affinity.note("k", prompt, by("first"), 0);
        }
      }
    }
  }
});

Deno.test("an opening whose words change is left behind: the last turns are recognised", () => {
  for (const style of styles) {
    const affinity = new RouteAffinity();
    const weather = ["sun", "rain", "snow", "wind", "fog"];
    const body = (n: number) =>
      loops[style].request("Steady.", `Now ${weather[n]}.\nAlpha becomes beta.`, n);
    affinity.note("k", prefixes(style, body(1)), by("first"), 0);
    for (let n = 2; n <= 4; n++) {
      const prompt = prefixes(style, body(n));
      assertEquals(affinity.find("k", prompt, 0)?.routeId, "first", `${style}, step ${n}`);
      affinity.note("k", prompt, by("first"), 0);
    }
  }
});

Deno.test("the whole prompt decides before its turns, and other openings, keys and models are not found", () => {
  for (const style of styles) {
    const affinity = new RouteAffinity();
    const body = (instructions: string, opening: string, steps: number) =>
      loops[style].request(instructions, opening, steps);
    affinity.note("k", prefixes(style, body("One agent.", "Alpha becomes beta.", 0)), by("one"), 0);
    affinity.note("k", prefixes(style, body("Another.", "Alpha becomes beta.", 0)), by("two"), 0);
    const next = prefixes(style, body("One agent.", "Alpha becomes beta.", 1));
    assertEquals(affinity.find("k", next, 0)?.routeId, "one", style);
    const foreign = body("One agent.", "Gamma becomes delta.", 1);
    assertEquals(affinity.find("k", prefixes(style, foreign), 0), undefined, style);
    assertEquals(affinity.find("other", next, 0), undefined);
    const otherModel = promptPrefixes("n", style, body("One agent.", "Alpha becomes beta.", 1));
    assertEquals(affinity.find("k", otherModel, 0), undefined, style);
    const first = prefixes(style, body("One agent.", "Alpha becomes beta.", 0));
    assertEquals(affinity.find("k", first, 0), undefined, "calls with one opening are spread");
  }
});

Deno.test("the billing line is no part of a prompt that providers cache, as block or as first line", () => {
  const line = changing["billing header"]!;
  const messages = [{ role: "user", content: "Hello" }];
  const forms: readonly ((line: string) => JsonObject)[] = [
    (first) => ({ system: `${first}\n${rules}`, messages }),
    (first) => ({ system: [{ type: "text", text: `${first}\n${rules}` }], messages }),
  ];
  const asBlock = { system: [{ type: "text", text: line(1) }, { type: "text", text: rules }] };
  const without = { system: [{ type: "text", text: rules }], messages };
  const hash = (body: JsonObject) => prefixes("messages", body).whole?.hash;
  assertEquals(hash({ ...asBlock, messages }), hash(without));
  for (const form of forms) assertEquals(hash(form(line(1))), hash(form(line(2))));
  assert(hash(without) !== hash({ ...without, system: [{ type: "text", text: `${rules}!` }] }));
  // A clock is: what a provider has cached of the prompt is not known after it changed.
  const clock = changing["clock"]!;
  assert(hash({ system: clock(1), messages }) !== hash({ system: clock(2), messages }));
});

Deno.test("the table of routes is bounded", () => {
  const affinity = new RouteAffinity();
  const prompt = prefixes("chat", loops.chat.request("Be brief.", "Hello", 1));
  for (let i = 0; i < 20_010; i++) affinity.note(`k${i}`, prompt, by("r"), 0);
  assertEquals(affinity.size, 60_000);
});

Deno.test("threads find the same hashes, so that what one of them tells is found by the others", async () => {
  const module = new URL("../../../core/calls/bounds/seen_prompts.ts", import.meta.url).href;
  const body = loops.messages.request("Be brief.", "Hello", 2);
  const source = `import { promptPrefixes } from ${JSON.stringify(module)};
    postMessage(promptPrefixes("m", "messages", ${JSON.stringify(body)}));`;
  const url = URL.createObjectURL(new Blob([source], { type: "application/typescript" }));
  const worker = new Worker(url, { type: "module" });
  const found = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
  worker.terminate();
  URL.revokeObjectURL(url);
  assertEquals(found, prefixes("messages", body));
});

Deno.test("a message is the same with its text in a list, as clients write it where they mark it for the cache", () => {
  const affinity = new RouteAffinity();
  const said = { role: "user", content: "Alpha becomes beta." };
  const rule = (content: Json) => ({ role: "system", content });
  const block = { type: "text", text: rules, cache_control: { type: "ephemeral" } };
  affinity.note("k", prefixes("messages", { messages: [said, rule([block])] }), by("first"), 0);
  const answer = { role: "assistant", content: [{ type: "text", text: "Done" }] };
  const next = prefixes("messages", { messages: [said, rule(rules), answer, said] });
  assertEquals(affinity.find("k", next, 0)?.routeId, "first");
  const other = prefixes("messages", { messages: [said, rule(`${rules}!`), answer, said] });
  assertEquals(affinity.find("k", other, 0), undefined);
});
