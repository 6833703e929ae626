/** The rounds of a call as one stream: signs of life, ids of the history, ends, and what is cut. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  offerSearch,
  type SearchFindings,
  SearchRunner,
} from "../../../../core/calls/rounds/search_function.ts";
import { ToolRounds, type ToolRoundsInput } from "../../../../core/calls/rounds/tool_rounds.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { bodyOf } from "../../../../core/net/transport/read_whole.ts";
import type { Conversation } from "../../../../core/wire/conversation/mod.ts";
import { readConversation } from "../../../../core/wire/convert/convert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";

const chunk = (delta: object, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const done = "data: [DONE]\n\n";
/** A round that searches; some servers give the calls of every answer the same ids. */
const searching = chunk({
  tool_calls: [{
    index: 0,
    id: "call_0",
    type: "function",
    function: { name: "web_search", arguments: '{"query":"q"}' },
  }],
}) + chunk({}, "tool_calls") + done;
const answering = chunk({ content: "So." }) + chunk({}, "stop") + done;

/** Rounds whose provider sends these streams one after another. */
function roundsOf(
  streams: readonly string[],
  search: () => Promise<SearchFindings> = () =>
    Promise.resolve({ id: "req_1", text: "Found.", sources: [], failed: false }),
) {
  const time = new ManualTime();
  const times = { clock: time, deadlines: new Deadlines({ clock: time, timer: time }) };
  const offered = offerSearch(readConversation("responses", {
    model: "m",
    input: "Hi",
    tools: [{ type: "web_search" }, { type: "function", name: "f" }],
  }, {}));
  assert(offered !== undefined);
  const sent: Conversation[] = [];
  let cancelled = 0;
  const input: ToolRoundsInput = {
    style: "chat",
    conversation: offered.conversation,
    tools: [new SearchRunner(offered, { time: times, search })],
    before: [],
    time: times,
    route: { carries: () => false, warn() {} },
    citesSources: false,
    payer: { pay: () => Promise.resolve(true), note() {} },
    send(conversation) {
      sent.push(conversation);
      const body = bodyOf(new TextEncoder().encode(streams[sent.length - 1] ?? ""));
      const header = (name: string) => name === "content-type" ? "text/event-stream" : undefined;
      return {
        exchange: {
          response: Promise.resolve({ status: 200, header, body }),
          cancel() {
            cancelled++;
          },
        },
        memory: {},
      };
    },
    handlers: {
      decodeError: () => new GatewayError("upstream_unreachable", "refused"),
      readAnswer: () => {
        throw new Error("not asked for");
      },
    },
  };
  return { rounds: new ToolRounds(input), sent, time, cancelled: () => cancelled };
}

const decoder = new TextDecoder();

/** The types of all events up to the end of the body. */
async function typesOf(rounds: ToolRounds): Promise<string[]> {
  const { body } = await rounds.response;
  let text = "";
  for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
    text += decoder.decode(bytes);
  }
  return text.split("\n\n").filter((frame) => frame !== "").map((frame) => {
    const event: { readonly type: string } = JSON.parse(frame.slice("data: ".length));
    return event.type;
  });
}

Deno.test("calls of several rounds have ids of their own, with results in their order", async () => {
  const { rounds, sent } = roundsOf([searching, searching, answering]);
  const types = await typesOf(rounds);
  assertEquals(types.filter((type) => type === "hosted_call").length, 2, types.join());
  assertEquals(types.at(-1), "end");
  const blocks = sent.at(-1)?.turns.flatMap((turn) => turn.blocks) ?? [];
  const calls = blocks.flatMap((block) => block.type === "tool_call" ? [block.id] : []);
  const results = blocks.flatMap((block) => block.type === "tool_result" ? [block.callId] : []);
  assertEquals([new Set(calls).size, calls], [2, results]);
});

Deno.test("a search that takes long is not silent", async () => {
  const found = Promise.withResolvers<SearchFindings>();
  const { rounds, time } = roundsOf([searching, answering], () => found.promise);
  const { body } = await rounds.response;
  await body.read(); // the start
  for (let pings = 0; pings < 3; pings++) {
    const read = body.read();
    // The search has begun once the deadline is armed.
    while (time.pending === 0) await Promise.resolve();
    time.advance(6_000);
    assert(decoder.decode(await read ?? undefined).includes('"type":"ping"'));
  }
  found.resolve({ id: "req_1", text: "Found.", sources: [], failed: false });
  const rest: string[] = [];
  for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
    rest.push(decoder.decode(bytes));
  }
  assert(rest.join("").includes('"type":"end"'), rest.join(""));
});

Deno.test("a stream that is cut has no end, and a cancelled one sends no further request", async () => {
  const cut = roundsOf([searching, chunk({ content: "So" })]);
  assert(!(await typesOf(cut.rounds)).includes("end"));
  const found = Promise.withResolvers<SearchFindings>();
  const left = roundsOf([searching, answering], () => found.promise);
  const { body } = await left.rounds.response;
  await body.read();
  const read = body.read();
  left.rounds.cancel();
  found.resolve({ id: "req_1", text: "Found.", sources: [], failed: false });
  await read;
  assertEquals(await body.read(), null);
  assertEquals(left.sent.length, 1);
  assert(left.cancelled() > 0);
});

Deno.test("a call that is cut by the limit of output is not searched for", async () => {
  const half = searching.replace('"tool_calls"}]', '"length"}]');
  const { rounds, sent } = roundsOf([half]);
  const types = await typesOf(rounds);
  assertEquals([types.includes("hosted_call"), types.at(-1), sent.length], [false, "end", 1]);
});
