import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { LinkEndedError, MessageLink, webPort } from "../../../../core/lib/threads/message_link.ts";

const services = {
  double: (value: number) => Promise.resolve(2 * value),
  fail: (_: null) => Promise.reject(new RangeError("too far")),
  uncloneable: (_: null) => Promise.resolve(() => {}),
  echo: (value: unknown) => value,
};

/** Both ends of a link, with what was sent to the other thread, message by message. */
function linked(errorOf?: (name: string, message: string) => Error | undefined) {
  const { port1, port2 } = new MessageChannel();
  const sent: unknown[][] = [];
  const post = port1.postMessage.bind(port1);
  port1.postMessage = (message: unknown[]) => {
    post(message);
    sent.push(message);
  };
  const theirs = new MessageLink(webPort(port2), services);
  const link = new MessageLink<typeof services>(webPort(port1), {}, errorOf && { errorOf });
  return {
    link,
    theirs,
    sent,
    [Symbol.dispose]() {
      link.end();
      theirs.end();
    },
  };
}

Deno.test("calls of one turn travel in one message, and each gets its own answer", async () => {
  using pair = linked();
  const answers = await Promise.all([1, 2, 3].map((value) => pair.link.call("double", value)));
  assertEquals(answers, [2, 4, 6]);
  assertEquals(pair.sent.map((batch) => batch.length), [3]);
});

Deno.test("a call rejects with the error of its service, of a known class if one is made", async () => {
  using plain = linked();
  const error = await plain.link.call("fail", null).catch((error: unknown) => error);
  assertEquals(String(error), "RangeError: too far");
  using typed = linked((name, message) =>
    name === "RangeError" ? new RangeError(message) : undefined
  );
  await assertRejects(() => typed.link.call("fail", null), RangeError, "too far");
});

Deno.test("what cannot be cloned fails its own call, not those beside it", async () => {
  using pair = linked();
  const strange = pair.link.call("echo", () => {});
  const result = pair.link.call("uncloneable", null);
  const sound = pair.link.call("double", 4);
  await assertRejects(() => strange, DOMException);
  await assertRejects(() => result, Error, "could not be cloned");
  assertEquals(await sound, 8);
});

Deno.test("a link that ends rejects what is under way and what comes later", async () => {
  using pair = linked();
  const underWay = pair.link.call("double", 1);
  pair.link.end();
  await assertRejects(() => underWay, LinkEndedError);
  await assertRejects(() => pair.link.call("double", 1), LinkEndedError);
  pair.link.note("double", 1);
});
