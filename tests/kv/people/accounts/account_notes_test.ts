/** Notes of operators and kinds of mails: bounded, newest first, and gone with the account. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  addNote,
  listNotes,
  maxNoteChars,
  maxNotes,
} from "../../../../kv/people/accounts/account_notes.ts";
import { closeAccount } from "../../../../kv/services/operations/account_closing.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  listSentMails,
  maxMailsKept,
  noteSentMail,
} from "../../../../kv/people/accounts/sent_mails.ts";
import { commandLine, listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";

const nowMs = Date.UTC(2026, 10, 20);
const act = (atMs: number) => ({ operator: commandLine, nowMs: atMs });

Deno.test("the newest notes are kept, each with an audit line, and none is longer than its bound", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs, email: "ann@example.com" });
  for (let at = 0; at < maxNotes + 3; at++) await addNote(kv, id, `note ${at}`, act(nowMs + at));
  const notes = await listNotes(kv, id);
  assertEquals(notes.length, maxNotes);
  assertEquals(notes[0], { atMs: nowMs + maxNotes + 2, by: "command line", text: "note 22" });
  const lines = await listAuditLines(kv, { count: 100 });
  assertEquals(lines.filter(({ act }) => act === "note_added").length, maxNotes + 3);
  assertEquals([lines[0]?.subject, lines[0]?.detail], [id, "note 22"]);
  await addNote(kv, id, "x".repeat(maxNoteChars + 9), act(nowMs + 99));
  assertEquals((await listNotes(kv, id))[0]?.text.length, maxNoteChars);
});

Deno.test("notes that are written at once are all kept", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs, email: "ann@example.com" });
  await Promise.all(["a", "b"].map((text) => addNote(kv, id, text, act(nowMs))));
  assertEquals((await listNotes(kv, id)).map(({ text }) => text).sort(), ["a", "b"]);
});

Deno.test("mails are known by kind and time only, the newest of them", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs, email: "ann@example.com" });
  for (let at = 0; at <= maxMailsKept; at++) {
    await noteSentMail(kv, id, { kind: "low_balance", atMs: nowMs + at });
  }
  await noteSentMail(kv, id, { kind: "topup_credited", atMs: nowMs + 99, failed: true });
  const mails = await listSentMails(kv, id);
  assertEquals(mails.length, maxMailsKept);
  assertEquals(mails[0], { kind: "topup_credited", atMs: nowMs + 99, failed: true });
});

Deno.test("notes and mails leave with the person, and a deleted account gets none", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs, email: "ann@example.com" });
  await addNote(kv, id, "asks often", act(nowMs));
  await noteSentMail(kv, id, { kind: "low_balance", atMs: nowMs });
  await closeAccount(kv, id, { nowMs, givenUpMicroVnd: 0n });
  assertEquals([await listNotes(kv, id), await listSentMails(kv, id)], [[], []]);
  assertEquals(await addNote(kv, id, "again", act(nowMs)), undefined);
  assertEquals(await addNote(kv, newId("account", 0), "nobody", act(nowMs)), undefined);
  await noteSentMail(kv, id, { kind: "low_balance", atMs: nowMs });
  assert((await listSentMails(kv, id)).length === 0);
});
