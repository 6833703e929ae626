import { assertEquals } from "@std/assert";
import type { BankSource } from "../../../core/topup/bank_event.ts";
import { parseBankTime } from "../../../core/topup/bank_time.ts";
import { parseOrderCode } from "../../../core/topup/order_code.ts";
import { compareMovement, type KnownMovement } from "../../../core/topup/same_movement.ts";

function movement(
  part: Partial<KnownMovement> & { source: BankSource; id: string },
): KnownMovement {
  return {
    time: parseBankTime("2026-11-20 14:02:37")!,
    reference: "REF1",
    codes: [parseOrderCode("ST7K2M9QXJ")!],
    memo: "ST7K2M9QXJ",
    toldBy: [part.source],
    ...part,
  };
}

const webhook = movement({ source: "sepay", id: "1" });
const verdict = (newcomer: KnownMovement, ...known: KnownMovement[]) => {
  const found = compareMovement(newcomer, known);
  return found.kind === "new" ? "new" : `${found.kind} ${found.known.id}`;
};

Deno.test("an equal reference from another source proves the same movement", () => {
  const poll = movement({ source: "sepay-poll", id: "p1" });
  assertEquals(verdict(poll, webhook), "same 1");
  const day = movement({ source: "csv", id: "c1", time: parseBankTime("20/11/2026")! });
  assertEquals(verdict(day, webhook), "same 1");
});

Deno.test("a source can tell of a movement only once", () => {
  const told = { ...webhook, toldBy: ["sepay", "sepay-poll"] as const };
  assertEquals(verdict(movement({ source: "sepay-poll", id: "p2" }), told), "doubtful 1");
});

Deno.test("the same source with an equal reference under another id is doubtful", () => {
  assertEquals(verdict(movement({ source: "sepay", id: "2" }), webhook), "doubtful 1");
});

Deno.test("an equal reference days later is doubtful, not the same", () => {
  const later = movement({ source: "csv", id: "c", time: parseBankTime("25/11/2026")! });
  assertEquals(verdict(later, webhook), "doubtful 1");
});

Deno.test("two references of one numbering are two movements", () => {
  assertEquals(verdict(movement({ source: "sepay", id: "2", reference: "REF2" }), webhook), "new");
  assertEquals(
    verdict(movement({ source: "sepay-poll", id: "p", reference: "REF2" }), webhook),
    "new",
  );
});

Deno.test("two numberings prove nothing: time or code make it doubtful", () => {
  const at = (time: string, codes = webhook.codes) =>
    movement({ source: "casso", id: "k", reference: "FT9", time: parseBankTime(time)!, codes });
  assertEquals(verdict(at("2026-11-20 14:02:37", []), webhook), "doubtful 1");
  assertEquals(verdict(at("2026-11-20 14:10:00", []), webhook), "doubtful 1");
  assertEquals(verdict(at("2026-11-20 15:00:00", []), webhook), "new");
  assertEquals(verdict(at("2026-11-20 15:00:00"), webhook), "doubtful 1");
  assertEquals(verdict(at("20/11/2026", []), webhook), "doubtful 1");
  assertEquals(verdict(at("21/11/2026", []), webhook), "new");
});

Deno.test("without references, one source told the same second and memo twice: doubtful", () => {
  const first = movement({ source: "sepay", id: "1", reference: "" });
  assertEquals(verdict(movement({ source: "sepay", id: "2", reference: "" }), first), "doubtful 1");
  const otherMemo = movement({ source: "sepay", id: "2", reference: "", memo: "X" });
  assertEquals(verdict(otherMemo, first), "new");
});

Deno.test("equal rows of a statement that tells days only are movements of their own", () => {
  const row = (id: string) =>
    movement({ source: "csv", id, reference: "", time: parseBankTime("20/11/2026")! });
  assertEquals(verdict(row("b"), row("a")), "new");
});

Deno.test("a movement is not compared with itself", () => {
  assertEquals(verdict(webhook, webhook), "new");
});
