/** The wallet engine refuses to settle a call that it has settled lately, and no other. */
import { newId, type RequestId } from "../../../../../core/lib/ids/ids.ts";
import { RecentIds } from "../../../../../kv/money/wallet/wallet_engine.ts";
import { assertThrows } from "../../../../support/assert.ts";

const ids = (count: number): RequestId[] =>
  Array.from({ length: count }, (_, index) => newId("request", 1_800_000_000_000 + (index >> 3)));

Deno.test("each of the last ten thousand calls is refused a second time", () => {
  const recent = new RecentIds();
  const all = ids(35_000);
  for (const id of all) recent.add(id);
  for (const id of all.slice(-10_000)) assertThrows(() => recent.add(id));
});

Deno.test("no call is taken for another, however many were settled", () => {
  const recent = new RecentIds();
  for (const id of ids(300_000)) recent.add(id);
});

Deno.test("ids that differ in one character are different", () => {
  const recent = new RecentIds();
  const [id] = ids(1);
  if (id === undefined) throw new Error("no id");
  recent.add(id);
  for (let at = 4; at < id.length; at++) {
    const other = id[at] === "0" ? "1" : "0";
    recent.add(`${id.slice(0, at)}${other}${id.slice(at + 1)}` as RequestId);
  }
});
