import { assertEquals } from "../../../support/assert.ts";
import { type BankSource, parseBankTime } from "../../../../core/trade/bank/bank_notice.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import {
  compareMovement,
  type KnownMovement,
} from "../../../../core/trade/statements/same_movement.ts";

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

Deno.test("an equal reference is not proof if order codes or times disagree", () => {
  const other = [parseOrderCode("ST4HWN8RC9")!];
  const casso = (at: string, codes = webhook.codes) =>
    movement({ source: "casso", id: "k", time: parseBankTime(at)!, codes });
  assertEquals(verdict(casso("2026-11-20 14:02:39"), webhook), "same 1");
  assertEquals(verdict(casso("2026-11-20 14:02:39", []), webhook), "same 1");
  assertEquals(verdict(casso("2026-11-20 14:02:39", other), webhook), "doubtful 1");
  // Short references come again on other days.
  assertEquals(verdict(casso("2026-11-20 14:13:00"), webhook), "doubtful 1");
  assertEquals(verdict(casso("2026-11-22 14:02:37", []), webhook), "doubtful 1");
});

Deno.test("a statement with days only may book a day late, or with a common code after a weekend", () => {
  const row = (at: string, codes = webhook.codes) =>
    movement({ source: "csv", id: "c", time: parseBankTime(at)!, codes });
  assertEquals(verdict(row("21/11/2026", []), webhook), "same 1");
  assertEquals(verdict(row("22/11/2026", []), webhook), "doubtful 1");
  assertEquals(verdict(row("23/11/2026"), webhook), "same 1");
  assertEquals(verdict(row("24/11/2026"), webhook), "doubtful 1");
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

Deno.test("without references, the same second and memo or code twice from one source: doubtful", () => {
  const first = movement({ source: "sepay", id: "1", reference: "" });
  assertEquals(verdict(movement({ source: "sepay", id: "2", reference: "" }), first), "doubtful 1");
  const other = { source: "sepay", id: "2", reference: "", memo: "X" } as const;
  assertEquals(verdict(movement(other), first), "doubtful 1");
  assertEquals(verdict(movement({ ...other, codes: [] }), first), "new");
});

Deno.test("equal rows of one statement are different movements, of two files they are doubtful", () => {
  const row = (id: string, importId: string, at = "20/11/2026") =>
    movement({
      source: "csv",
      id,
      reference: "",
      time: parseBankTime(at)!,
      importId,
      imports: [importId],
    });
  assertEquals(verdict(row("b", "one"), row("a", "one")), "new");
  assertEquals(verdict(row("b", "two"), row("a", "one")), "doubtful a");
  // Seen at the coarser precision: a spreadsheet drops the seconds.
  const exact = row("a", "one", "2026-11-20 14:02:37");
  assertEquals(verdict(row("b", "two", "20/11/2026 14:02"), exact), "doubtful a");
  assertEquals(verdict(row("b", "two"), exact), "doubtful a");
  assertEquals(verdict(row("b", "two", "20/11/2026 14:03"), exact), "new");
  assertEquals(verdict(row("b", "two", "21/11/2026"), exact), "new");
});

Deno.test("rows of two statements match by code or memo, unless their codes differ", () => {
  const row = (id: string, memo: string, code?: string) =>
    movement({
      source: "csv",
      id,
      reference: "",
      memo,
      codes: code === undefined ? [] : [parseOrderCode(code)!],
      importId: id,
      imports: [id],
    });
  const known = row("a", "NAPTIENST7K2M9QXJCTTU0123", "ST7K2M9QXJ");
  assertEquals(verdict(row("b", "ST7K2M9QXJ", "ST7K2M9QXJ"), known), "doubtful a");
  // An export that cuts the memo may cut the code away.
  assertEquals(verdict(row("b", "NAPTIENST7K2"), known), "doubtful a");
  assertEquals(verdict(row("b", "HELLO"), known), "new");
  assertEquals(verdict(row("b", "ST4HWN8RC9", "ST4HWN8RC9"), known), "new");
});

Deno.test("a reference that a spreadsheet may have damaged proves no second movement", () => {
  const row = (id: string, reference: string) =>
    movement({ source: "csv", id, reference, importId: id, imports: [id] });
  const cases: readonly [string, string, string][] = [
    ["5123456789012345", "", "doubtful a"],
    // Rounded, as older versions stored it.
    ["5123456789012345", "512346E15", "doubtful a"],
    ["5123456789012345", "5123456789012340", "doubtful a"],
    ["000001", "1", "doubtful a"],
    ["5123456789012345", "5123456789012346", "new"],
    ["000001", "000002", "new"],
    ["FT01", "FT1", "new"],
  ];
  for (const [first, second, expected] of cases) {
    assertEquals(verdict(row("b", second), row("a", first)), expected, `${first} ${second}`);
    assertEquals(verdict(row("b", first), row("a", second)), expected, `${second} ${first}`);
  }
});

Deno.test("a statement that was saved again reports a webhook's movement once more", () => {
  const joined = { ...webhook, toldBy: ["sepay", "csv"] as const, imports: ["one"] };
  const row = (reference: string, importId: string) =>
    movement({ source: "csv", id: "c2", reference, importId, imports: [importId] });
  assertEquals(verdict(row("", "two"), joined), "doubtful 1");
  // Another row of the file that was joined, or another reference, is another movement.
  assertEquals(verdict(row("", "one"), joined), "new");
  assertEquals(verdict(row("REF2", "two"), joined), "new");
});

Deno.test("a movement is not compared with itself", () => {
  assertEquals(verdict(webhook, webhook), "new");
});
