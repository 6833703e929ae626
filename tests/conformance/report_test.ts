/** The report over recorded exchanges counts correctly, tested with invented exchanges. */
import { assert, assertEquals } from "../support/assert.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { type Conversions, measure, ownConversions, type Row } from "./report/measure.ts";
import { tableOf } from "./report/table.ts";
import { readAllRecordings, type Recording } from "./recordings.ts";

const words = "The system's own words";
const request: JsonObject = {
  model: "m",
  messages: [{ role: "system", content: words }, { role: "user", content: "Question" }],
};
const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
const answer: JsonObject = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage,
};

function chunk(delta: JsonObject, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${
    JSON.stringify({ id: "chatcmpl-1", model: "m", created: 1, choices, usage })
  }\n\n`;
}
const stream = chunk({ content: "Hel" }) + chunk({ content: "lo" }) + chunk({}, "stop") +
  "data: [DONE]\n\n";

const bytes = new TextEncoder().encode(stream);
const good: Recording = { name: "chat/good", style: "chat", status: 200, request, answer };
const streamed: Recording = { name: "chat/streamed", style: "chat", status: 200, stream: bytes };
const twice: Recording = {
  name: "chat/twice",
  style: "chat",
  status: 200,
  request: { ...request, n: 2 },
};
const failed: Recording = { ...good, name: "chat/failed", status: 400 };

/** Returns the row of one direction, without its remarks. */
function countsOf(rows: readonly Row[], from: string, to: string): Omit<Row, "remarks"> {
  const row = rows.find((one) => one.from === from && one.to === to);
  assert(row !== undefined);
  const { remarks: _, ...counts } = row;
  return counts;
}

const whole: Omit<Row, "remarks"> = {
  from: "chat",
  to: "messages",
  requests: 2,
  valid: 1,
  refusedByName: 1,
  invalid: 0,
  weightyLosses: 0,
  answers: 1,
  wholeUsable: 1,
  streams: 1,
  streamUsable: 1,
  comparable: 1,
  streamIsWhole: 1,
};

Deno.test("the report counts good exchanges, a named refusal and a failure at the provider", () => {
  const rows = measure([good, twice, streamed, failed]);
  assertEquals(countsOf(rows, "chat", "messages"), whole);
  assertEquals(countsOf(rows, "chat", "responses"), { ...whole, to: "responses" });
  assertEquals(countsOf(rows, "messages", "chat")["requests"], 0);
  assertEquals(rows[3]?.remarks, ["chat/twice: refused, n"]);
});

/** Conversions with one fault each. */
const bad: Record<string, [Partial<Conversions>, Partial<Row>]> = {
  "a field that the vendor refuses": [{
    request: (...args) => {
      const converted = ownConversions.request(...args);
      if (converted.ok) converted.request.body["made_up"] = 1;
      return converted;
    },
  }, { valid: 0, invalid: 1 }],
  "a refusal that names nothing": [{
    request: () => ({ ok: false, error: new GatewayError("invalid_request", "no") }),
  }, { valid: 0, refusedByName: 0, invalid: 2 }],
  "words that are gone": [{
    request: (...args) => {
      const converted = ownConversions.request(...args);
      if (converted.ok) delete converted.request.body["system"];
      return converted;
    },
  }, { weightyLosses: 1 }],
  "an answer without its text": [{
    answer: (...args) => ({ ...ownConversions.answer(...args), content: [] }),
  }, { weightyLosses: 1, streamIsWhole: 0 }],
  "an answer that no client takes": [{
    answer: (...args) => ({ ...ownConversions.answer(...args), content: 1 }),
  }, { wholeUsable: 0, comparable: 0, streamIsWhole: 0 }],
  "a stream that breaks off": [{
    stream: (from, to, [all]) => ownConversions.stream(from, to, [all!.slice(0, 40)]),
  }, { streamUsable: 0, comparable: 0, streamIsWhole: 0 }],
};

for (const [what, [conversions, counts]] of Object.entries(bad)) {
  Deno.test(`the report counts ${what}`, () => {
    const rows = measure([good, twice, streamed], { ...ownConversions, ...conversions });
    assertEquals(countsOf(rows, "chat", "messages"), { ...whole, ...counts });
    const remarks = rows.find(({ from, to }) => from === "chat" && to === "messages")?.remarks;
    assert(remarks !== undefined && remarks.length > 0);
    assert(!remarks.join().includes(words), "remarks hold no words of the exchanges");
  });
}

Deno.test("a field that the answer's header names does not count as a loss", () => {
  const rows = measure([{ ...good, request: { ...request, prediction: { content: "Named" } } }]);
  assertEquals(countsOf(rows, "chat", "messages")["weightyLosses"], 0);
});

/** Answers with the same content in the form of one server. */
const manners: Record<string, Recording> = {
  "members spelled out that mean nothing": withMessage({
    content: "Hello",
    tool_calls: null,
    function_call: { name: "", arguments: "" },
  }),
  "a call without arguments": withMessage({
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: { name: "f" } }],
  }),
  "thinking as a part": withMessage({
    content: [
      { type: "thinking", thinking: [{ type: "text", text: "Hm" }] },
      { type: "text", text: "Hello" },
    ],
  }),
  "reasoning that only the total counts": {
    ...good,
    answer: { ...answer, usage: { ...usage, total_tokens: 20 } },
  },
  "a name of a schema": {
    ...good,
    request: {
      ...request,
      response_format: {
        type: "json_schema",
        json_schema: { name: "label_of_schema", schema: { type: "object" } },
      },
    },
  },
};

function withMessage(message: JsonObject): Recording {
  const choice = { index: 0, message: { role: "assistant", ...message }, finish_reason: "stop" };
  return { ...good, answer: { ...answer, choices: [choice] } };
}

for (const [what, recording] of Object.entries(manners)) {
  Deno.test(`no loss: ${what}`, () => {
    const remarks = measure([recording]).flatMap((row) => row.remarks);
    assertEquals(remarks, []);
  });
}

Deno.test("no loss: reasoning of a Responses server that is content, and a text file", () => {
  const told = { type: "reasoning_text", text: "Hm" };
  const said = { type: "output_text", text: "Hello", annotations: [] };
  const output = [
    { type: "reasoning", id: "rs_1", summary: [], content: [told] },
    { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [said] },
  ];
  const file_data = `data:text/plain;base64,${btoa("What the file says")}`;
  const file = { type: "input_file", filename: "a.txt", file_data };
  const recording: Recording = {
    name: "responses/reasoning",
    style: "responses",
    status: 200,
    request: { model: "m", input: [{ role: "user", content: [file] }] },
    answer: { id: "resp_1", object: "response", status: "completed", model: "m", output },
  };
  assertEquals(measure([recording]).flatMap((row) => row.remarks), []);
});

Deno.test("a stream in parts has the content of the whole answer", () => {
  const thought = { type: "thinking", thinking: [{ type: "text", text: "Hm" }] };
  const parts = chunk({ content: [thought] }) +
    chunk({ content: [{ type: "text", text: "Hello" }] }) + chunk({}, "stop") + "data: [DONE]\n\n";
  const recording = { ...streamed, stream: new TextEncoder().encode(parts) };
  assertEquals(countsOf(measure([recording]), "chat", "responses")["streamIsWhole"], 1);
});

Deno.test("the task prints one line for each direction", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/chat`);
    await Deno.writeTextFile(
      `${folder}/chat/good.json`,
      JSON.stringify({ status: 200, request, response: answer }),
    );
    await Deno.writeTextFile(`${folder}/chat/streamed.sse`, stream);
    const main = new URL("./report/main.ts", import.meta.url);
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--allow-read", "--allow-env", main.pathname, folder],
      stderr: "inherit",
    }).output();
    const printed = new TextDecoder().decode(stdout);
    assertEquals([code, printed], [0, `${tableOf(measure(readAllRecordings(folder)))}\n`]);
    const line = printed.split("\n").find((line) => line.includes("chat → messages"));
    const cells = line?.split("|").map((cell) => cell.trim()).slice(2, -1);
    assertEquals(cells, ["1", "1", "0", "0", "0", "1/1", "1/1", "1/1"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
