import { assert, assertEquals } from "../../../support/assert.ts";
import { sourcesIn, sourceText } from "../../../repository/source_files.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { exportRecords } from "../../../../kv/services/verify/export.ts";
import * as keys from "../../../../kv/engine/schema/keys.ts";
import { addToOutbox, mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { bury } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

interface Line {
  readonly key: readonly unknown[];
  readonly value: unknown;
}

async function exported(kv: KeyValueStore): Promise<Line[]> {
  const text = (await Array.fromAsync(exportRecords(kv))).join("");
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** The kinds of rows that are not exported. Every addition to this list is missing from backups. */
const staying: readonly string[] = [
  "account_by_email",
  "account_by_identity",
  "account_password",
  "account_session",
  "active_api_keys",
  "api_key_by_hash",
  "api_key_of_form",
  "app_code",
  "availability",
  "availability_day",
  "bank_event_by_time",
  "bank_movement_guard",
  "bank_reference",
  "budget_marks",
  "checkpoint_balances",
  "checkpoint_head",
  "grant_expiry",
  "failed_of",
  "indexer",
  "invitation_for",
  "invoice_by_account",
  "ledger_by_time",
  "ledger_operation",
  "limit_mail",
  "low_balance_watch",
  "mail_token",
  "management_answer",
  "management_key_by_hash",
  "membership",
  "known_place",
  "operator_moved",
  "operator_session",
  "passkey_challenge",
  "pending_sign_in",
  "proof_balances",
  "proof_chunk",
  "proof_head",
  "rate_limit",
  "rate_use",
  "refused_call_by_id",
  "refused_hours",
  "receipts_of",
  "recovery_codes",
  "second_factor",
  "session",
  "sign_in_flow",
  "topup_by_account",
  "topup_of_form",
  "topup_open",
  "usage_by_day",
  "usage_hours",
  "verified_domain",
  "video_open",
  "call_order",
  "video_order",
  "store",
  "webhook_state",
  "webhook_try",
  "write_probe",
];

Deno.test("every kind of row is in the export or on the list of those that stay", async () => {
  using kv = await Deno.openKv(":memory:");
  // These two have encodings of their own; the tests of the wallet engine show that they are
  // exported.
  const plainKinds = keys.rowKinds.filter((kind) => kind !== "receipt" && kind !== "settled");
  for (const kind of plainKinds) await kv.set([kind, "one"], { kind });
  const leaving = (await exported(kv)).map(({ key }) => key[0]);
  assertEquals(leaving, plainKinds.filter((kind) => !staying.includes(kind)));
});

Deno.test("every function that builds a key begins it with a known kind of row", () => {
  const known: readonly unknown[] = keys.rowKinds;
  assertEquals(known, known.toSorted(), "in the order of the store");
  // Those in `…OfKey` take a key apart.
  const builders = Object.entries(keys).filter(([name]) =>
    /(?<!Of)(?:Key|Prefix)$|OfPrefix$/.test(name)
  );
  assert(builders.length > 80, "the builders are found");
  const seen = new Set<unknown>();
  for (const [name, build] of builders) {
    assert(typeof build === "function", name);
    const key: unknown = Reflect.apply(build, undefined, ["account", "a", "b", "c", "d", "e"]);
    assert(Array.isArray(key) && known.includes(key[0]), `${name}: ${String(key)}`);
    seen.add(key[0]);
  }
  assertEquals(known.filter((kind) => !seen.has(kind)), [], "kinds that nobody writes");
});

Deno.test("keys are built and taken apart in kv/engine/schema only", () => {
  const forms = [
    /\.(?:get|set|delete)(?:<[^()]*>)?\(\s*\[\s*"/, // kv.get(["wallet", id])
    /\b(?:prefix|start|end|key): \[(?!"\p{Lu})/u, // { prefix: ["wallet"] }; a text begins with a capital
    /\[\s*\.\.\.\w*[pP]refix\b/, // [...prefix, atMs]
    /\bkey\.(?:at|slice)\(|\bkey\[\d/, // key[1]
    /\] = (?:\w+\.)?key;/, // const [, id] = entry.key
  ];
  const found: string[] = [];
  const files = ["kv", "routes"].flatMap((folder) => [...sourcesIn(folder)])
    .filter((file) => !file.startsWith("kv/engine/schema/"));
  for (const file of files) {
    sourceText(file).split("\n").forEach((line, at) => {
      const isComment = /^\s*(?:\*|\/\/|\/\*)/.test(line);
      if (!isComment && forms.some((form) => form.test(line))) {
        found.push(`${file}:${at + 1} ${line.trim()}`);
      }
    });
  }
  assertEquals(found, []);
});

Deno.test("the bytes of an invoice's file are in the export", async () => {
  using kv = await Deno.openKv(":memory:");
  const invoiceId = newId("invoice", 1);
  await kv.set(keys.invoiceFileChunkKey(invoiceId, "file", 0), new TextEncoder().encode("%PDF-"));
  assertEquals(await exported(kv), [
    { key: ["invoice_file", invoiceId, "file", 0], value: btoa("%PDF-") },
  ]);
});

Deno.test("a sign-up that waits, or could not be mailed, leaves without the hash of its password", async () => {
  using kv = await Deno.openKv(":memory:");
  const payload = {
    kind: "sign_up" as const,
    to: "ann@example.com",
    locale: "en" as const,
    passwordHash: "s3cret",
    browserHash: "s3cret",
    next: "/",
  };
  const write = kv.atomic();
  addToOutbox(write, mailQueue, { id: "waiting", payload, nowMs: 5 });
  const row = { payload, createdAtMs: 5, attempts: 8 };
  bury(write, mailQueue, { id: "dead", row, reason: "MailError", nowMs: 9 });
  await write.commit();
  const lines = await exported(kv);
  assertEquals(lines.map(({ key }) => key), [
    ["outbox", "mail", 5, "waiting"],
    ["outbox_dead", "mail", "dead"],
  ]);
  const text = JSON.stringify(lines);
  assert(!text.includes("s3cret") && text.includes("ann@example.com"), text);
});

Deno.test("an amount in a key is written like one in a record", async () => {
  using kv = await Deno.openKv(":memory:");
  const account: AccountId = newId("account", 1);
  await kv.set(keys.bankMovementKey(account, "in", 5n, 1, "sepay", "7"), { toldBy: ["sepay"] });
  assertEquals((await exported(kv))[0]?.key, [
    "bank_movement",
    account,
    "in",
    "5",
    1,
    "sepay",
    "7",
  ]);
});
