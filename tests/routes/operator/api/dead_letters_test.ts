/** Dead letters of the outbox: listed without secrets, tried again and removed with an audit line. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { mailQueue, type OutboxQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { bury } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { videoPolls } from "../../../../kv/services/videos/mod.ts";
import { operatorApi } from "../../../support/worlds/operator_api.ts";

/** Gives up a mail or a poll, whatever its payload is. */
async function giveUp(
  kv: KeyValueStore,
  queue: OutboxQueue<unknown>,
  { id, payload, nowMs }: {
    readonly id: string;
    readonly payload: unknown;
    readonly nowMs: number;
  },
) {
  const row = { payload, createdAtMs: nowMs, attempts: 8 };
  await bury(kv.atomic(), queue, { id, row, reason: "MailError", nowMs }).commit();
}

Deno.test("dead letters are listed by whom they are for, without what they say and without secrets", async () => {
  await using w = await operatorApi();
  const { kv, time } = w.gateway;
  const nowMs = time.nowMs();
  const [{ accountId }, videoId] = [await w.gateway.customer(), "video_1"];
  const to = "ann@example.com";
  const secrets = { passwordHash: "s3cret", next: "/?token=s3cret", reason: "s3cret" };
  const letters: readonly (readonly [OutboxQueue<unknown>, unknown, unknown])[] = [
    [mailQueue, { kind: "sign_up", to, ...secrets }, { kind: "sign_up", to }],
    [mailQueue, { kind: "invoice_rejected", to, ...secrets }, { kind: "invoice_rejected", to }],
    [mailQueue, { kind: { to: secrets }, to: 5, deep: secrets, token: "s3cret" }, {}],
    [mailQueue, "s3cret", {}],
    [mailQueue, null, {}],
    [videoPolls, { accountId, videoId, unknownTimes: 2, prompt: "s3cret" }, { accountId, videoId }],
  ];
  for (const [at, [queue, payload]] of letters.entries()) {
    await giveUp(kv, queue, { id: `${at}`, payload, nowMs });
  }
  const { data } = await w.done("outbox.list", "/api/outbox");
  assert(!JSON.stringify(data).includes("s3cret"), JSON.stringify(data));
  assertEquals(
    data.map(({ payload }: { payload: unknown }) => payload),
    letters.map((one) => one[2]),
  );
  const { payload: _, ...first } = data[0];
  assertEquals(first, {
    letter: "mail:0",
    reason: "MailError",
    attempts: 8,
    createdAt: new Date(nowMs).toISOString(),
    diedAt: new Date(nowMs).toISOString(),
  });
});

Deno.test("a dead letter is tried again or removed once, with one line of who did it", async () => {
  await using w = await operatorApi();
  const { kv, time } = w.gateway;
  const nowMs = time.nowMs();
  const mail = { kind: "password_changed", to: "ann@example.com", locale: "en" };
  for (const id of ["one", "two"]) await giveUp(kv, mailQueue, { id, payload: mail, nowMs });
  await giveUp(kv, mailQueue, { id: "three", payload: { kind: "of another version" }, nowMs });
  const acts: readonly (readonly [string, string, number[]])[] = [
    ["POST", "/api/outbox/mail:one/revive", [200, 404]],
    ["DELETE", "/api/outbox/mail:two", [200, 404]],
    ["POST", "/api/outbox/mail:three/revive", [400]],
    ["DELETE", "/api/outbox/mail:three", [200, 404]],
    ["POST", "/api/outbox/pigeons:one/revive", [400]],
    ["POST", `/api/outbox/mail:${"x".repeat(3_000)}/revive`, [400]],
    ["DELETE", `/api/outbox/mail:${"x".repeat(3_000)}`, [400]],
    ["DELETE", "/api/outbox/mail", [400]],
  ];
  for (const [method, path, statuses] of acts) {
    const answers = await Promise.all(Array.from({ length: 4 }, () => w.send(method, path)));
    const found = new Set(answers.map(({ status }) => status));
    // Whoever comes at the same moment may also read that it has just changed.
    for (const status of found) assert([...statuses, 400].includes(status), `${status} ${path}`);
    const done = answers.filter(({ status }) => status === 200).length;
    assertEquals(done, statuses.includes(200) ? 1 : 0, path);
  }
  assertEquals((await w.done("outbox.list", "/api/outbox")).data, []);
  const lines = await listAuditLines(kv, { count: 10 });
  assertEquals(
    lines.map(({ act, subject, detail, operatorEmail }) =>
      [act, subject, detail, operatorEmail].join(" ")
    ),
    [
      "letter_forgotten mail:three MailError operator key",
      "letter_forgotten mail:two MailError operator key",
      "letter_revived mail:one MailError operator key",
    ],
  );
});
