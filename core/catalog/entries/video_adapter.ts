/**
 * Describes a provider of videos as data: paths, the places of the request's fields, the meaning of
 * its states.
 *
 * The `/v1/videos` dialect is one such description, built in. Providers with other requests and
 * answers are described in `gateway.json`, by the capability `videoAdapter` of their route; see
 * docs/media.md.
 */
import { z } from "zod";

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
export const videoAdapterSchema = z.strictObject({
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
