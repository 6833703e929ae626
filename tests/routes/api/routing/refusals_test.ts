import { assert, assertEquals } from "../../../support/assert.ts";
import {
  chunk,
  chunkedHead,
  lastChunk,
  plain,
  strictEnd,
  styles,
  transcripts,
  type Unruly,
  UnrulyWorld,
} from "../../../support/worlds/unruly_world.ts";

const options = { sanitizeOps: false, sanitizeResources: false };
const told = await transcripts();

const limiting = (seconds: number): Unruly => async (conversation) =>
  void await conversation.say(
    plain('{"error":{"message":"Slow down","type":"rate_limit_error"}}', {
      status: 429,
      extra: `retry-after: ${seconds}\r\n`,
    }),
  );

const good: Unruly = async (conversation) => {
  await conversation.say(chunkedHead());
  await conversation.say(chunk(told.chat.stream));
  await conversation.say(lastChunk);
};

Deno.test(
  "when all providers limit us the client gets 429 with the soonest retry-after, later without a call to them",
  options,
  async () => {
    let asked = 0;
    const counting = (seconds: number): Unruly => async (conversation, request) => {
      asked++;
      await limiting(seconds)(conversation, request);
    };
    await using world = await UnrulyWorld.open({
      providers: { a: counting(50), b: counting(20) },
    });
    for (const style of styles) {
      const first = await world.call(style, true);
      assertEquals([first.status, first.headers.get("retry-after")], [429, "20"]);
      const askedBefore = asked;
      const second = await world.call(style, true);
      const seconds = Number(second.headers.get("retry-after"));
      assertEquals(second.status, 429);
      assert(seconds > 15 && seconds <= 20, String(seconds));
      assertEquals(JSON.parse(second.text).error.type, "rate_limit_error");
      assertEquals(asked, askedBefore, "a pause that was asked for is kept");
      assertEquals((await world.receiptOf(second)).attempts, []);
    }
    await world.checkBooks(6);
  },
);

Deno.test(
  "a caller's own 400 that speaks of billing is tried on one route, and takes none from the others",
  options,
  async () => {
    const message = "Invalid schema for function 'get_billing_portal': array schema missing items.";
    const refusing: Unruly = async (conversation) =>
      void await conversation.say(
        plain(JSON.stringify({ error: { message, type: "invalid_request_error" } }), {
          status: 400,
        }),
      );
    await using world = await UnrulyWorld.open({ providers: { a: refusing, b: good } });
    for (let i = 0; i < 6; i++) {
      const answer = await world.call("chat", true);
      assertEquals([answer.status, JSON.parse(answer.text).error.message], [400, message]);
      assertEquals((await world.receiptOf(answer)).attempts.length, 1);
    }
    await world.checkBooks(6);
  },
);

Deno.test(
  "a provider's 503 is service_unavailable in every style, as in the table of errors",
  options,
  async () => {
    const away: Unruly = async (conversation) =>
      void await conversation.say(
        plain('{"error":{"message":"Busy","type":"api_error"}}', { status: 503 }),
      );
    await using world = await UnrulyWorld.open({ providers: { a: away } });
    for (const style of styles) {
      const answer = await world.call(style, true);
      const { error } = JSON.parse(answer.text);
      assertEquals([answer.status, error.type], [503, "service_unavailable"]);
    }
    await world.checkBooks(3);
  },
);

Deno.test(
  "receipts and logs have the status that the client got: 529 or 503",
  options,
  async () => {
    const overloaded: Unruly = async (conversation) =>
      void await conversation.say(
        plain('{"error":{"message":"Overloaded","type":"overloaded_error"}}', { status: 529 }),
      );
    await using world = await UnrulyWorld.open({ providers: { a: overloaded } });
    for (const style of styles) {
      for (const stream of [true, false]) {
        const answer = await world.call(style, stream);
        assertEquals(answer.status, style === "messages" ? 529 : 503);
        assertEquals((await world.receiptOf(answer)).status, answer.status);
        const id = answer.headers.get("x-request-id");
        const logged = world.logLines.find((line) => line["request_id"] === id);
        assertEquals(logged?.["status"], answer.status);
      }
    }
    await world.checkBooks(6);
  },
);

Deno.test("a rate-limited provider is skipped while another one answers", options, async () => {
  await using world = await UnrulyWorld.open({ providers: { a: limiting(50), b: good } });
  for (let i = 0; i < 3; i++) {
    const answer = await world.call("chat", true);
    assertEquals([answer.status, strictEnd("chat", answer.bytes)], [200, "whole"]);
  }
  const receipts = await world.receipts();
  assertEquals(receipts.map(({ attempts }) => attempts.length).sort(), [1, 1, 2]);
  await world.checkBooks(3);
});

Deno.test(
  "a refused provider key is a 502 for the client, not a 401, and the provider's text is not shown",
  options,
  async () => {
    for (const status of [401, 402, 403]) {
      await using world = await UnrulyWorld.open({
        providers: {
          a: async (conversation) =>
            void await conversation.say(
              plain('{"error":{"message":"Incorrect API key provided: sk-abc123def456"}}', {
                status,
              }),
            ),
        },
      });
      const answer = await world.call("chat", false);
      assertEquals(answer.status, 502);
      assert(!/key|sk-abc/i.test(answer.text), answer.text);
      await world.checkBooks(1);
    }
  },
);

Deno.test(
  "a 422 of a validating server becomes an error that names the field: free, and no other route is tried",
  options,
  async () => {
    const detail = [{ loc: ["body", "messages", 0, "content"], msg: "Field required" }];
    let asked = 0;
    const validating: Unruly = async (conversation) => {
      asked++;
      await conversation.say(plain(JSON.stringify({ detail }), { status: 422 }));
    };
    await using world = await UnrulyWorld.open({ providers: { a: validating, b: validating } });
    for (const style of styles) {
      const answer = await world.call(style, style === "chat");
      const { error } = JSON.parse(answer.text);
      assertEquals(answer.status, 422);
      assertEquals(error.type, "invalid_request_error");
      assertEquals(error.message, "messages.0.content: Field required");
      assertEquals(error.param, style === "messages" ? undefined : "messages.0.content");
    }
    assertEquals(asked, styles.length);
    await world.checkBooks(styles.length);
  },
);

Deno.test(
  "a running stream continues to its end when its route is switched off",
  options,
  async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const half = told.chat.stream.indexOf("\n\n", told.chat.stream.indexOf("You said")) + 2;
    await using world = await UnrulyWorld.open({
      providers: {
        a: async (conversation) => {
          await conversation.say(chunkedHead());
          await conversation.say(chunk(told.chat.stream.slice(0, half)));
          await goOn.promise;
          await conversation.say(chunk(told.chat.stream.slice(half)));
          await conversation.say(lastChunk);
        },
      },
    });
    const calling = world.call("chat", true, () => {
      begun.resolve();
      return true;
    });
    await begun.promise;
    const { control, router } = world.gateway.assembled.gateway;
    await control.update((switches) => ({
      ...switches,
      routes: Object.fromEntries(
        router.reports().map(({ route }) => [
          route.id,
          { state: "disabled" as const, reason: "test", sinceMs: 0 },
        ]),
      ),
    }));
    assertEquals((await world.call("chat", true)).status, 503, "new calls are refused");
    goOn.resolve();
    const answer = await calling;
    assertEquals(strictEnd("chat", answer.bytes), "whole");
    assertEquals((await world.receiptOf(answer)).outcome, "completed");
    await world.checkBooks(2);
  },
);
