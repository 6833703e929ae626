/**
 * The rules of what a video model accepts, as data (docs/media.md#rules-of-a-video-model). A model
 * of `gateway.json` names one of the four built-in profiles or has rules of its own.
 */
import { z } from "zod";

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

/** What a video model may accept. All sizes are `<W>x<H>` in pixels. */
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
