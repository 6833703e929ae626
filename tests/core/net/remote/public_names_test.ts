import { assertEquals } from "../../../support/assert.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { PublicNames } from "../../../../core/net/remote/public_names.ts";
import { ManualTime } from "../../../support/manual_time.ts";

function world(resolve: (name: string) => Promise<readonly string[]>) {
  const time = new ManualTime();
  const asked: string[] = [];
  const names = new PublicNames({
    clock: time,
    deadlines: new Deadlines({ clock: time, timer: time, tickMs: 10 }),
    resolve: (name) => {
      asked.push(name);
      return resolve(name);
    },
  });
  return { time, asked, names };
}

Deno.test("a name is public when all its addresses are", async () => {
  const addresses: Record<string, string[]> = {
    "out.example": ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"],
    "both.example": ["93.184.215.14", "10.0.0.1"],
    "in.example": ["127.0.0.1"],
    "none.example": [],
  };
  const { names, asked } = world((name) => Promise.resolve(addresses[name] ?? []));
  assertEquals(
    await Promise.all(Object.keys(addresses).map((name) => names.isPublic(name))),
    [true, false, false, false],
  );
  assertEquals([await names.isPublic("93.184.215.14"), await names.isPublic("[::1]")], [
    true,
    false,
  ]);
  assertEquals(asked.length, 4, "an address has no name server");
});

Deno.test("a result is kept for a minute, a failure is not", async () => {
  let fails = true;
  const { names, asked, time } = world(() =>
    fails ? Promise.reject(new Error("no server")) : Promise.resolve(["93.184.215.14"])
  );
  assertEquals(await names.isPublic("a.example"), false);
  fails = false;
  assertEquals(await names.isPublic("a.example"), true);
  assertEquals(await names.isPublic("a.example"), true);
  assertEquals(asked.length, 2);
  time.advance(60_001);
  assertEquals(await names.isPublic("a.example"), true);
  assertEquals(asked.length, 3);
});
