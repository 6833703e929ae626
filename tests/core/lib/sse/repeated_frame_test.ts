import { assertEquals } from "../../../support/assert.ts";
import { RepeatedFrame, SseFrame } from "../../../../core/lib/sse/frame.ts";

const encoder = new TextEncoder();

const frameOf = (json: string) => `data: ${json}\n\n`;

/** The end of `next` and the length of its text, after `first` with its text `a` was learnt. */
function matched(first: string, next: string, repeated = new RepeatedFrame()) {
  const bytes = encoder.encode(first + next);
  const frame = new SseFrame();
  frame.set(bytes, 0, first.length, false);
  const at = first.indexOf('"a"') + 1;
  repeated.learn(frame, at, at + 1);
  const end = repeated.match(bytes, first.length, bytes.length);
  return end === -1 ? undefined : [end - first.length, repeated.textLength];
}

const first = frameOf('{"x":[1],"t":"a","y":null}');

Deno.test("a frame with another text matches, whatever its length", () => {
  for (const [text, length] of [["b", 1], ["", 0], ["xin chào", 9], ['\\n\\"\\\\', 3]] as const) {
    const next = frameOf(`{"x":[1],"t":"${text}","y":null}`);
    assertEquals(matched(first, next + "data: "), [encoder.encode(next).length, length]);
  }
});

Deno.test("a frame that differs in anything else does not match", () => {
  for (
    const next of [
      frameOf('{"x":[2],"t":"b","y":null}'),
      frameOf('{"x":[1],"t":"b","y":1}'),
      frameOf('{"x":[1],"t":"b","z":"c","y":null}'),
      frameOf('{"x":[1],"t":"\\u0041","y":null}'),
      'data: {"x":[1],"t":"b\n","y":null}\n\n',
      frameOf('{"x":[1],"t":"b","y":null}').slice(0, -1),
      frameOf('{"x":[1],"t":"b').trim(),
      'data: {"x":[1],"t":"b\\',
    ]
  ) assertEquals(matched(first, next), undefined, next);
});

Deno.test("a second random text may differ, too", () => {
  const learnt = frameOf('{"t":"a","obfuscation":"x7"}');
  const next = frameOf('{"t":"bc","obfuscation":"kQ2z"}');
  assertEquals(matched(learnt, next), [next.length, 2]);
  assertEquals(matched(learnt, frameOf('{"t":"bc","obfuscation":7}')), undefined);
  assertEquals(matched(learnt, frameOf('{"t":"bc","obfuscation":"k","y":1}')), undefined);
});

Deno.test("frames that never repeat are not learnt for ever, and one that does begins the count again", () => {
  const other = frameOf('{"x":[2],"t":"b","y":null}');
  const same = frameOf('{"x":[1],"t":"b","y":null}');
  const repeated = new RepeatedFrame();
  for (let time = 0; time < 7; time++) assertEquals(matched(first, other, repeated), undefined);
  assertEquals(matched(first, same, repeated), [same.length, 1]);
  for (let time = 0; time < 8; time++) assertEquals(matched(first, other, repeated), undefined);
  assertEquals(matched(first, same, repeated), undefined);
});
