import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { AccountId, ApiKeyId, RequestId, VideoId } from "../../../../core/lib/ids/ids.ts";
import {
  advance,
  isFinal,
  pollPauseMs,
  videoDeleted,
  type VideoEvent,
  videoList,
  videoObject,
  type VideoSighting,
  type VideoState,
  type VideoTask,
} from "../../../../core/media/video/task.ts";
import {
  specVideoRules,
  videoPriceProblems,
} from "../../../../core/catalog/entries/video_rules.ts";

const states: readonly VideoState[] = [
  "queued",
  "in_progress",
  "completed",
  "failed",
  "cancelled",
];

function task(more: Partial<VideoTask> = {}): VideoTask {
  return {
    id: "video_1" as VideoId,
    accountId: "acc_1" as AccountId,
    keyId: "key_1" as ApiKeyId,
    requestId: "req_1" as RequestId,
    model: "video-a",
    route: "sandbox/video-a",
    credential: undefined,
    upstreamId: "u1",
    state: "queued",
    progress: 0,
    createdAtMs: 1_000_000,
    completedAtMs: undefined,
    expiresAtMs: undefined,
    deadlineAtMs: 9_000_000,
    seconds: 5,
    size: "720x1280",
    error: undefined,
    costMicroVnd: 3_300_000_000n,
    refundId: undefined,
    ...more,
  };
}

function seen(state: VideoState, more: Partial<VideoSighting> = {}): VideoEvent {
  const nothing = {
    progress: undefined,
    completedAtMs: undefined,
    expiresAtMs: undefined,
    error: undefined,
  };
  return { kind: "seen", sighting: { state, ...nothing, ...more } };
}

Deno.test("advance() follows the table of transitions, and refunds only where the table says so", () => {
  const table: [VideoState, VideoEvent, VideoState, boolean][] = [
    ["queued", seen("queued"), "queued", false],
    ["queued", seen("in_progress"), "in_progress", false],
    ["queued", seen("completed"), "completed", false],
    ["queued", seen("failed"), "failed", true],
    ["queued", seen("cancelled"), "failed", true],
    ["queued", { kind: "lost" }, "failed", true],
    ["queued", { kind: "deadline" }, "failed", true],
    ["queued", { kind: "cancel", confirmed: true }, "cancelled", true],
    ["queued", { kind: "cancel", confirmed: false }, "cancelled", false],
    ["in_progress", seen("queued"), "in_progress", false],
    ["in_progress", seen("in_progress"), "in_progress", false],
    ["in_progress", seen("completed"), "completed", false],
    ["in_progress", seen("failed"), "failed", true],
    ["in_progress", seen("cancelled"), "failed", true],
    ["in_progress", { kind: "lost" }, "failed", true],
    ["in_progress", { kind: "deadline" }, "failed", true],
    ["in_progress", { kind: "cancel", confirmed: true }, "cancelled", false],
    ["in_progress", { kind: "cancel", confirmed: false }, "cancelled", false],
  ];
  for (const [from, event, to, refund] of table) {
    const step = advance(task({ state: from }), event, 2_000_000);
    assertEquals([step.task.state, step.refund], [to, refund], `${from} ${JSON.stringify(event)}`);
    assertEquals(step.task.completedAtMs !== undefined, isFinal(to));
  }
});

const anyEvent: fc.Arbitrary<VideoEvent> = fc.oneof(
  fc.record({
    state: fc.constantFrom(...states),
    progress: fc.option(fc.oneof(fc.double(), fc.constant(NaN)), { nil: undefined }),
  }).map(({ state, progress }) => seen(state, { progress })),
  fc.constant<VideoEvent>({ kind: "lost" }),
  fc.constant<VideoEvent>({ kind: "deadline" }),
  fc.boolean().map((confirmed): VideoEvent => ({ kind: "cancel", confirmed })),
);

Deno.test("any events in any order: one refund at most, none after completion, no way back", () => {
  fc.assert(fc.property(fc.array(anyEvent, { maxLength: 20 }), (events) => {
    let now = task();
    let refunds = 0;
    for (const event of events) {
      const before = now;
      const step = advance(now, event, 2_000_000);
      now = step.task;
      if (step.refund) refunds++;
      if (isFinal(before.state)) assert(now === before, "an ended task never changes");
      assert(now.progress >= before.progress && now.progress <= 100);
      assert(Number.isInteger(now.progress), "progress is a whole number");
      assert(!(before.state === "in_progress" && now.state === "queued"));
      if (step.refund) assert(now.state === "failed" || now.state === "cancelled");
    }
    assert(refunds <= 1);
    assertEquals(refunds === 1 || now.state !== "failed", true, "failed means refunded");
    if (now.state === "completed") assertEquals([refunds, now.progress], [0, 100]);
  }));
});

Deno.test("progress is below 100 before the end, and bad numbers change nothing", () => {
  const at = (progress: number) =>
    advance(task({ progress: 40 }), seen("in_progress", { progress }), 0).task.progress;
  assertEquals([100, 250].map(at), [99, 99]);
  assertEquals([-5, 0, 39.9, NaN, Infinity].map(at), [40, 40, 40, 40, 40]);
  assertEquals(at(55.7), 55);
});

Deno.test("the provider's own times are kept, else those of the gateway", () => {
  const times = { completedAtMs: 5_000, expiresAtMs: 9_000 };
  const theirs = advance(task(), seen("completed", times), 7_000).task;
  assertEquals([theirs.completedAtMs, theirs.expiresAtMs], [5_000, 9_000]);
  const ours = advance(task(), seen("completed"), 7_000).task;
  assertEquals([ours.completedAtMs, ours.expiresAtMs], [7_000, undefined]);
});

Deno.test("videoObject() has all fields of the SDK's Video, and no others", () => {
  const error = { code: "moderation_blocked", message: "no" };
  const failed = task({ state: "failed", completedAtMs: 1_005_999, error, progress: 12 });
  assertEquals(videoObject(failed), {
    id: "video_1",
    object: "video",
    model: "video-a",
    status: "failed",
    progress: 12,
    created_at: 1_000,
    completed_at: 1_005,
    expires_at: null,
    prompt: null,
    size: "720x1280",
    seconds: "5",
    remixed_from_video_id: null,
    error,
  });
  assertEquals(videoObject(task())["error"], null);
  assertEquals(videoObject(task({ expiresAtMs: 3_600_500 }))["expires_at"], 3_600);
});

Deno.test("videoList() names its ends", () => {
  const two = [task(), task({ id: "video_2" as VideoId })];
  const list = videoList(two, true);
  assertEquals([list["first_id"], list["last_id"], list["has_more"]], ["video_1", "video_2", true]);
  const none = videoList([], false);
  assertEquals([none["first_id"], none["last_id"], none["data"]], [null, null, []]);
});

Deno.test("videoDeleted() says whether the money went back", () => {
  assertEquals(videoDeleted(task({ state: "cancelled" })), {
    id: "video_1",
    object: "video.deleted",
    deleted: true,
    status: "cancelled",
    refunded: false,
  });
});

Deno.test("polls grow rarer with age and obey retry-after within bounds", () => {
  const ages = [0, 14_999, 15_000, 60_000, 300_000, 3_600_000];
  const pauses = ages.map((ageMs) => pollPauseMs({ ageMs, retryAfterMs: undefined }));
  assertEquals(pauses, [1_000, 1_000, 3_000, 8_000, 15_000, 15_000]);
  const asked = [0, 5_000, 3_600_000].map((retryAfterMs) =>
    pollPauseMs({ ageMs: 0, retryAfterMs })
  );
  assertEquals(asked, [1_000, 5_000, 60_000]);
});

Deno.test("videoPriceProblems() finds lengths without a price and with two", () => {
  const prices = {
    A: [{ fromSeconds: 1, toSeconds: 10 }],
    B: [{ fromSeconds: 4, toSeconds: 8 }],
    C: [5, 10, 15].map((s) => ({ fromSeconds: s, toSeconds: s })),
    D: [
      ...[5, 10, 15].map((s) => ({ fromSeconds: s, toSeconds: s })),
      { fromSeconds: 20, toSeconds: 30 },
    ],
  };
  for (const model of ["A", "B", "C", "D"] as const) {
    assertEquals(videoPriceProblems(specVideoRules[model], prices[model]), []);
  }
  assertEquals(videoPriceProblems(specVideoRules.B, [{ fromSeconds: 6, toSeconds: 8 }]), [
    "4 seconds are allowed but have no price",
    "5 seconds are allowed but have no price",
  ]);
  const twice = [...prices.A, { fromSeconds: 10, toSeconds: 20 }];
  assertEquals(videoPriceProblems(specVideoRules.A, twice), ["10 seconds have 2 prices"]);
});
