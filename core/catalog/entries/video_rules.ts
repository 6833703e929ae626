/**
 * The rules of what a video model accepts, as data (docs/media.md#rules-of-a-video-model). A model
 * of `gateway.json` names one of the four built-in profiles or has rules of its own.
 */
import { z } from "zod";
import type { Model } from "./model.ts";
import { invariant } from "../../lib/base/assert.ts";
import { readBySchema, type SchemaProblem } from "../../lib/environment/schema_words.ts";

// Describes a provider of videos as data: paths, the places of the request's fields, the meaning of
// its states.
//
// The `/v1/videos` dialect is one such description, built in. Providers with other requests and
// answers are described in `gateway.json`, by the capability `videoAdapter` of their route; see
// docs/media.md.

/** A path such as `a.b.0.c`: members by name, elements by number. */
const pointer = z.string().regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/).max(256);

const path = z.string().regex(/^(?:\/|\{videos\})[\x21-\x7e]*$/).max(512)
  .describe(
    "Path below the provider's baseUrl. `{videos}`: its path of that name; `{id}`: the task.",
  );

const valueTarget = z.union([
  pointer,
  z.strictObject({
    to: pointer,
    as: z.enum(["string", "number"]).default("string"),
  }),
]);

const pictureTarget = z.strictObject({
  to: pointer,
  shape: z.enum(["text", "list", "object", "objects", "object_or_objects"]).default("text")
    .describe(
      "`text`: one picture as a string; `list`: strings; `object`: one `{key: …}`; `objects`: a list of them; " +
        "`object_or_objects`: an object for one picture, else a list.",
    ),
  key: z.string().max(64).default("url"),
});

const fieldsSchema = z.strictObject({
  model: valueTarget.optional(),
  prompt: valueTarget.optional(),
  seconds: valueTarget.optional(),
  size: valueTarget.optional(),
  width: valueTarget.optional(),
  height: valueTarget.optional(),
  aspectRatio: valueTarget.optional(),
  resolution: valueTarget.optional(),
  inputReferences: pictureTarget.optional(),
  lastFrame: pictureTarget.optional(),
  inputVideo: valueTarget.optional(),
}).describe(
  "The place of each field of the request. A field without a place is refused if a client sends it.",
);

const videoStates = z.enum(["queued", "in_progress", "completed", "failed", "cancelled"]);

/** The capability `videoAdapter` of a route. */
const videoAdapterSchema = z.strictObject({
  submit: z.strictObject({
    path,
    body: z.enum(["json", "form", "form_if_files"]).default("json")
      .describe("`form_if_files`: a form if the client sent files, else JSON."),
    fields: fieldsSchema,
    fixed: z.record(pointer, z.union([z.string(), z.number(), z.boolean()])).default({})
      .describe("Sent with every request, by pointer."),
    id: pointer.describe("The place of the task's id in the answer."),
  }),
  poll: z.strictObject({
    path,
    state: pointer,
    states: z.record(z.string().max(64), videoStates)
      .describe(
        "The provider's states, in lower case, and what they mean here. Others mean in_progress.",
      ),
    progress: pointer.optional().describe("0 to 100."),
    completedAt: pointer.optional().describe("Unix seconds, milliseconds, or ISO 8601."),
    expiresAt: pointer.optional(),
    errorCode: pointer.optional(),
    errorMessage: pointer.optional(),
  }),
  content: z.union([
    z.strictObject({ path }),
    z.strictObject({
      url: pointer.describe("The place of the file's URL in the answer to a poll."),
    }),
  ]),
  cancel: z.strictObject({ method: z.enum(["DELETE", "POST"]).default("DELETE"), path }).optional()
    .describe("Absent: the provider cannot cancel, so a cancelled task is not refunded."),
});

/** A provider's shape, with all defaults filled in. */
export type VideoAdapter = z.infer<typeof videoAdapterSchema>;

/** The `/v1/videos` dialect (docs/internals/WIRE_FORMATS.md#videos). */
const standardVideoAdapter: VideoAdapter = videoAdapterSchema.parse({
  submit: {
    path: "{videos}",
    body: "form_if_files",
    fields: {
      model: "model",
      prompt: "prompt",
      seconds: "seconds", // a string: one vendor answers 400 to a number
      size: "size",
      resolution: "resolution",
      inputReferences: { to: "input_reference", shape: "object_or_objects", key: "image_url" },
      lastFrame: { to: "last_frame", shape: "object", key: "image_url" },
      inputVideo: "input_video",
    },
    id: "id",
  },
  poll: {
    path: "{videos}/{id}",
    state: "status",
    states: {
      queued: "queued",
      pending: "queued",
      in_progress: "in_progress",
      processing: "in_progress",
      completed: "completed",
      succeeded: "completed",
      failed: "failed",
      error: "failed",
      expired: "failed",
      cancelled: "cancelled",
      canceled: "cancelled",
    },
    progress: "progress",
    completedAt: "completed_at",
    expiresAt: "expires_at",
    errorCode: "error.code",
    errorMessage: "error.message",
  },
  content: { path: "{videos}/{id}/content" },
  cancel: { method: "DELETE", path: "{videos}/{id}" },
});

/**
 * Returns the adapter of a route: its capability `videoAdapter`, or the standard dialect.
 *
 * @throws {z.ZodError} if the capability is malformed; the configuration is checked for that when
 * it is read
 */
export function videoAdapterOf(capabilities: Readonly<Record<string, unknown>>): VideoAdapter {
  const written = capabilities["videoAdapter"];
  return written === undefined ? standardVideoAdapter : videoAdapterSchema.parse(written);
}

/**
 * Seconds of the longest video that a model may be configured for (built-in profiles: 30). Bounds the price
 * before it is looked up.
 */
const maxVideoSeconds = 600;

/** Reference images of one video request that a model may be configured for (built-in profiles: 10). */
const maxVideoReferences = 16;

/**
 * Minutes after which an unfinished video task fails and is refunded. Slow providers need 20 at their worst.
 */
const maxVideoDeadlineMinutes = 60;

/** The values of `aspect_ratio` that a client may request. */
export const aspectRatios = ["9:16", "16:9", "1:1", "3:4", "4:3", "21:9"] as const;
/** A value of `aspect_ratio`. */
export type AspectRatio = typeof aspectRatios[number];

const secondsRange = z.strictObject({
  from: z.int().min(1).max(maxVideoSeconds),
  to: z.int().min(1).max(maxVideoSeconds),
}).refine(({ from, to }) => from <= to, "`from` is above `to`");

const sizeRule = z.strictObject({
  size: z.string().regex(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/),
  ratio: z.enum(aspectRatios).describe("The nearest named ratio; decides conflicts."),
});

/** Rules written out in full. */
const ownVideoRulesSchema = z.strictObject({
  seconds: z.array(secondsRange).min(1).max(32)
    .describe("Whole seconds that may be requested; ranges include both ends."),
  defaultSeconds: z.int().min(1).max(maxVideoSeconds).default(5)
    .describe("Billed when `seconds` is left out. The nearest length in `seconds` is made."),
  sizes: z.array(sizeRule).min(1).max(32)
    .describe("The first is the default; the first of a ratio is what `aspect_ratio` selects."),
  maxInputReferences: z.int().min(0).max(maxVideoReferences),
  lastFrame: z.boolean().default(false),
  inputVideo: z.boolean().default(false),
  resolutions: z.array(z.string().regex(/^\d{3,4}p$/)).max(8).default([])
    .describe("The first is the default. Empty: the model has no such parameter."),
  deadlineMinutes: z.int().min(1).max(24 * 60).default(maxVideoDeadlineMinutes)
    .describe("A task that is unfinished after this time fails and is refunded."),
});

/** Values that a video model may accept. All sizes are `<W>x<H>` in pixels. */
export type VideoRules = z.infer<typeof ownVideoRulesSchema>;

const portraitAndLandscape: VideoRules["sizes"] = [
  { size: "720x1280", ratio: "9:16" },
  { size: "1280x720", ratio: "16:9" },
  // 4:7 and 7:4 in fact: no ratio of the list is nearer.
  { size: "1024x1792", ratio: "9:16" },
  { size: "1792x1024", ratio: "16:9" },
];

const allShapes: VideoRules["sizes"] = [
  ...portraitAndLandscape,
  { size: "1024x1024", ratio: "1:1" },
  { size: "768x1024", ratio: "3:4" },
  { size: "1024x768", ratio: "4:3" },
  { size: "1680x720", ratio: "21:9" },
];

const common = {
  defaultSeconds: 5,
  lastFrame: false,
  inputVideo: false,
  resolutions: [],
  deadlineMinutes: maxVideoDeadlineMinutes,
};

function exactly(...seconds: number[]): VideoRules["seconds"] {
  return seconds.map((second) => ({ from: second, to: second }));
}

/** The four built-in profiles. */
export const specVideoRules = {
  A: {
    ...common,
    seconds: exactly(5, 10),
    sizes: portraitAndLandscape,
    maxInputReferences: 3,
    inputVideo: true,
  },
  B: {
    ...common,
    seconds: exactly(4, 6, 8),
    sizes: portraitAndLandscape,
    maxInputReferences: 3,
    lastFrame: true,
    resolutions: ["720p", "1080p"],
  },
  C: { ...common, seconds: exactly(5, 10, 15), sizes: allShapes, maxInputReferences: 10 },
  D: {
    ...common,
    seconds: [...exactly(5, 10, 15), { from: 20, to: 30 }],
    sizes: allShapes,
    maxInputReferences: 10,
  },
} as const satisfies Record<string, VideoRules>;

const profileSchema = z.strictObject({
  profile: z.enum(["A", "B", "C", "D"]).describe("One of the four models of the API."),
});

/** `videoRules` of a model in `gateway.json`. */
export const videoRulesSchema = z.union([profileSchema, ownVideoRulesSchema]);

/**
 * Resolves the rules as written in `gateway.json`.
 *
 * @example
 * ```ts
 * import { resolveVideoRules } from "./video_rules.ts";
 * if (resolveVideoRules({ profile: "B" }).maxInputReferences !== 3) throw new Error("wrong profile");
 * ```
 */
export function resolveVideoRules(written: z.infer<typeof videoRulesSchema>): VideoRules {
  return "profile" in written ? specVideoRules[written.profile] : written;
}

/** One step of a price by length; both ends included. */
interface PriceTier {
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/**
 * Checks that every length a client may be billed for has exactly one price; returns one sentence
 * per problem.
 *
 * Called when the configuration is read, so that an operator and not a customer finds a length
 * without a price.
 *
 * @example
 * ```ts
 * import { specVideoRules, videoPriceProblems } from "./video_rules.ts";
 * const tiers = [{ fromSeconds: 5, toSeconds: 5 }];
 * const problems = videoPriceProblems(specVideoRules.A, tiers);
 * if (problems[0] !== "10 seconds are allowed but have no price") throw new Error(problems[0]);
 * ```
 */
export function videoPriceProblems(
  rules: Pick<VideoRules, "seconds" | "defaultSeconds">,
  tiers: readonly PriceTier[],
): string[] {
  const billable = new Set([rules.defaultSeconds]);
  for (const { from, to } of rules.seconds) {
    for (let second = from; second <= to; second++) billable.add(second);
  }
  const problems: string[] = [];
  for (const second of [...billable].sort((a, b) => a - b)) {
    const matching = tiers.filter((tier) =>
      tier.fromSeconds <= second && second <= tier.toSeconds
    ).length;
    if (matching === 0) problems.push(`${second} seconds are allowed but have no price`);
    if (matching > 1) problems.push(`${second} seconds have ${matching} prices`);
  }
  return problems;
}

// Finds and checks the video rules of the catalogue's models.

const known = new WeakMap<Model, VideoRules>();

/**
 * Returns the rules of a video model of the catalogue.
 *
 * @throws {InvariantError} if there are none: {@linkcode videoModelProblems} refuses such a model
 * when it is read
 */
export function videoRulesOf(model: Model): VideoRules {
  let rules = known.get(model);
  if (rules === undefined) {
    const parsed = videoRulesSchema.safeParse(model.videoRules);
    invariant(parsed.success, `The model ${model.id} has no usable videoRules`);
    rules = resolveVideoRules(parsed.data);
    known.set(model, rules);
  }
  return rules;
}

/** Advice for a video model without rules: no request of it could be checked. */
const rulesMissing = `is required for a model of kind video: { "profile": "A" }, one of ${
  Object.keys(specVideoRules).map((name) => `"${name}"`).join(", ")
}, or rules of its own (docs/media.md)`;

/**
 * Lists everything that is wrong with a video model: its rules, its prices for them, the adapters
 * of its routes. One sentence each; empty for models of other kinds.
 */
export function videoModelProblems(model: Model): string[] {
  if (model.kind !== "video") return [];
  if (model.videoRules === undefined) return [`videoRules: ${rulesMissing}`];
  const problems: string[] = [];
  const rules = readBySchema(videoRulesSchema, model.videoRules);
  if (!rules.ok) {
    problems.push(...problemsBelow("videoRules", rules.problems));
  } else if (model.price.unit === "video") {
    const resolved = resolveVideoRules(rules.value);
    const found = videoPriceProblems(resolved, model.price.tiers);
    problems.push(...found.map((problem) => `price.tiers: ${problem}`));
  }
  for (const [index, route] of model.routes.entries()) {
    const written = route.capabilities["videoAdapter"];
    if (written === undefined) continue;
    const adapter = readBySchema(videoAdapterSchema, written);
    if (!adapter.ok) {
      const place = `routes.${index}.capabilities.videoAdapter`;
      problems.push(...problemsBelow(place, adapter.problems));
    }
  }
  return problems;
}

function problemsBelow(place: string, problems: readonly SchemaProblem[]): string[] {
  return problems.map(({ path, message }) => `${[place, ...path].join(".")}: ${message}`);
}
