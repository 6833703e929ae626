import { root } from "../../../repository/source_files.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";
import {
  exampleEvent,
  maxWebhookBodyBytes,
  parseWebhookEvent,
  webhookBody,
  webhookKinds,
  webhookKindSays,
} from "../../../../core/people/webhooks/events.ts";
import { parseEndpointUrl } from "../../../../core/people/webhooks/endpoint_url.ts";
import {
  afterFailure,
  maxFailingMs,
  maxWebhookTries,
  minFailingTries,
} from "../../../../core/people/webhooks/retries.ts";
import { newWebhookSecret } from "../../../../core/people/webhooks/signature.ts";

Deno.test("every kind of event has a sentence in both languages and an example of its form", () => {
  for (const kind of webhookKinds) {
    const { en, vi } = webhookKindSays(kind);
    assert(en.endsWith(".") && vi.endsWith(".") && en !== vi, kind);
    const event = exampleEvent(kind);
    assertEquals(event.type, kind);
    assertEquals(parseWebhookEvent(JSON.parse(JSON.stringify(event))), event);
    assertThrows(
      () => parseWebhookEvent({ ...event, data: { ...event.data, prompt: "Hi" } }),
      Error,
      "prompt",
    );
  }
});

Deno.test("docs/webhooks.md has a row for each kind, as the table of the code says it", async () => {
  const text = await Deno.readTextFile(new URL("docs/webhooks.md", root));
  const rows = [...text.matchAll(/^\| `([a-z._]+)` +\| (.+?) +\|$/gm)].map((
    [, kind, says],
  ) => [kind, says]);
  assertEquals(rows, webhookKinds.map((kind) => [kind, webhookKindSays(kind).en]));
});

Deno.test("money is a decimal string, in every kind", () => {
  for (const kind of webhookKinds) {
    const { type, data } = exampleEvent(kind);
    for (const [name, value] of Object.entries(data)) {
      if (!name.endsWith("_vnd")) continue;
      assert(typeof value === "string", name);
      assertThrows(() => parseWebhookEvent({ type, data: { ...data, [name]: Number(value) } }));
      assertThrows(() => parseWebhookEvent({ type, data: { ...data, [name]: `${value} VND` } }));
    }
  }
});

Deno.test("the longest body is within its bound", () => {
  const event = parseWebhookEvent({
    type: "incident.ended",
    data: {
      incident_id: "ann_1",
      title: "ế".repeat(120),
      text: "ế".repeat(2_000),
      started_at: "2026-11-28T03:00:00.000Z",
      ended_at: "2026-11-28T03:40:00.000Z",
    },
  });
  const bytes = new TextEncoder().encode(webhookBody(event, { atMs: 0 })).length;
  assert(bytes < maxWebhookBodyBytes, String(bytes));
});

Deno.test("a secret has 32 bytes of base64 behind its prefix, and no two are the same", () => {
  const secrets = new Set(Array.from({ length: 20 }, newWebhookSecret));
  assertEquals(secrets.size, 20);
  for (const secret of secrets) assert(/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret), secret);
});

const refusedUrls = [
  "ftp://example.com/",
  "http://example.com/hook",
  "https://user:pass@example.com/",
  "https://example.com:6379/",
  "https://127.0.0.1/",
  "https://0x7f000001/",
  "https://[::ffff:10.0.0.1]/",
  "https://169.254.169.254/latest",
  "https://localhost/",
  "https://a.localhost./",
  "http://localhost:3000/",
  "javascript:alert(1)",
  "example.com/hook",
  `https://example.com/${"a".repeat(1_024)}`,
];

Deno.test("an address must be https on the internet, by its text already", () => {
  for (const url of refusedUrls) {
    assert(typeof parseEndpointUrl(url, { isLocalAllowed: false }) === "string", url);
  }
  const url = parseEndpointUrl("https://example.com/a?b=1#c", { isLocalAllowed: false });
  assertEquals(url.toString(), "https://example.com/a?b=1");
});

Deno.test("a sandbox on this machine may also send to this machine, and to nothing else inside", () => {
  const local = { isLocalAllowed: true };
  for (const url of ["http://localhost:3000/", "http://127.0.0.1:9/", "http://[::1]:9/"]) {
    assert(typeof parseEndpointUrl(url, local) !== "string", url);
  }
  for (const url of ["http://10.0.0.1/", "http://a.localhost/", "http://x:y@localhost/"]) {
    assert(typeof parseEndpointUrl(url, local) === "string", url);
  }
});

const failure = { kind: "failed", reason: "status", status: 500 } as const;

Deno.test("a delivery is tried nine times within 28 hours, 34 at the longest pauses", () => {
  for (const [random, hours] of [[0, 27], [1, 33]] as const) {
    let nowMs = 0;
    let tries = 1;
    for (;; tries++) {
      const { nextAtMs } = afterFailure(failure, { tries, nowMs, random, streak: undefined });
      if (nextAtMs === undefined) break;
      assert(nextAtMs > nowMs);
      nowMs = nextAtMs;
    }
    assertEquals(tries, maxWebhookTries);
    assertEquals(Math.floor(nowMs / hourMs), hours);
  }
});

Deno.test("a receiver that asks for a longer pause gets it, a shorter one changes nothing", () => {
  const at = (retryAfterSeconds: number) =>
    afterFailure({ ...failure, status: 503, retryAfterSeconds }, {
      tries: 1,
      nowMs: 0,
      random: 0,
      streak: undefined,
    }).nextAtMs;
  assertEquals([at(1), at(120)], [5_000, 120_000]);
});

Deno.test("an endpoint ends after five days and ten tries of failures only, or at once with 410", () => {
  const off = (sinceMs: number, tries: number, status = 500) =>
    afterFailure({ ...failure, status }, {
      tries: 1,
      nowMs: maxFailingMs,
      random: 0,
      streak: { sinceMs, tries },
    });
  assertEquals(off(0, minFailingTries - 1).switchedOff, "failing");
  assertEquals(off(0, minFailingTries - 1).nextAtMs, undefined);
  assertEquals(off(1, minFailingTries - 1).switchedOff, undefined);
  assertEquals(off(0, minFailingTries - 2).switchedOff, undefined);
  assertEquals(off(maxFailingMs, 0, 410).switchedOff, "gone");
  const streak = { sinceMs: 0, tries: 100 };
  const ours = afterFailure({ kind: "failed", reason: "no_secret" }, {
    tries: 1,
    nowMs: maxFailingMs,
    random: 0,
    streak,
  });
  assertEquals([ours.switchedOff, ours.streak], [undefined, streak], "the gateway's own fault");
});
