/** Schemas of the endpoints beside chat. Bounds are those that the readers of the requests check. */
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import { maxModelNameChars } from "../../core/lib/base/limits.ts";
import { maxPrompts } from "../../core/media/completion/request.ts";
import { maxEmbeddingInputs } from "../../core/media/embeddings/request.ts";
import {
  maxImageReferences,
  maxImagesPerRequest,
  maxPartialImages,
} from "../../core/media/images/request.ts";
import { maxMediaPromptChars } from "../../core/net/remote/address.ts";
import { maxModerationInputs } from "../../core/media/moderation/request.ts";
import { maxDocuments } from "../../core/media/rerank/request.ts";
import { maxSpeechInputChars } from "../../core/media/speech/attempt.ts";
import { aspectRatios } from "../../core/catalog/entries/video_rules.ts";
import { maxChoices } from "../../core/wire/contract/limits.ts";
import { ref } from "./operation.ts";

const text: JsonObject = { type: "string" };
const whole: JsonObject = { type: "integer", minimum: 1 };
const tokens: JsonObject = { type: "array", minItems: 1, items: { type: "integer", minimum: 0 } };
const model: JsonObject = {
  type: "string",
  minLength: 1,
  maxLength: maxModelNameChars,
  description: "Id or alias of a model of this kind.",
};

function object(
  description: string,
  required: readonly string[],
  properties: JsonObject,
): JsonObject {
  return { type: "object", description, required: [...required], properties };
}

function list(items: JsonObject, maxItems: number, description: string): JsonObject {
  return { type: "array", minItems: 1, maxItems, items, description };
}

/** A picture: an address, a data URL, base64, or a file of a form. */
const picture: JsonObject = {
  type: "string",
  description: "An http(s) URL, a data URL, plain base64, or a file of a form.",
};

const prompt: JsonObject = { type: "string", minLength: 1, maxLength: maxMediaPromptChars };

const imageFields: JsonObject = {
  model,
  prompt,
  n: { type: "integer", minimum: 1, maximum: maxImagesPerRequest, default: 1 },
  size: { type: "string", description: "`<W>x<H>`, each side 64 to 8192, or `auto`." },
  stream: { type: "boolean", description: "Events instead of one answer." },
  partial_images: {
    type: "integer",
    minimum: 0,
    maximum: maxPartialImages,
    description: "Previews of each picture of a stream.",
  },
};

/** Whether one prompt is a text or a list of tokens. */
const oneInput: Json[] = [text, tokens];

const requests: JsonObject = {
  ImageRequest: object("A request for pictures.", ["model", "prompt"], imageFields),
  ImageEditRequest: object(
    "A request to change pictures.",
    ["model", "prompt", "image"],
    {
      ...imageFields,
      image: {
        description: `Up to ${maxImageReferences} pictures.`,
        anyOf: [picture, list(picture, maxImageReferences, "Several pictures.")],
      },
      mask: picture,
    },
  ),
  SpeechRequest: object("A text to speak.", ["model", "input"], {
    model,
    input: { type: "string", minLength: 1, maxLength: maxSpeechInputChars },
    voice: { description: "One of the provider's voices." },
    response_format: text,
    speed: { type: "number" },
    stream_format: { type: "string", description: "`sse`: events instead of audio." },
  }),
  TranscriptionRequest: object("A recording.", ["model", "file"], {
    model,
    file: {
      type: "string",
      format: "binary",
      description: "One audio file with a file name, of at most 25 MB.",
    },
    stream: { type: "boolean", description: "Events instead of one answer." },
    language: text,
    prompt: text,
    response_format: {
      type: "string",
      description:
        "`json`, `verbose_json`, `text`, `srt`, `vtt`, or what else the provider writes.",
    },
    temperature: { type: "number" },
  }),
  EmbeddingRequest: object("Texts to turn into vectors.", ["model", "input"], {
    model,
    input: {
      description: "A text, a list of texts, a list of tokens, or a list of such lists.",
      anyOf: [
        { type: "string", minLength: 1 },
        list({ anyOf: oneInput }, maxEmbeddingInputs, "Several inputs."),
        tokens,
      ],
    },
    dimensions: whole,
    encoding_format: { type: "string", description: "`float` or `base64`." },
  }),
  RerankRequest: object("Documents to rank by a query.", ["model", "query", "documents"], {
    model,
    query: { type: "string", minLength: 1 },
    documents: list(
      { anyOf: [text, { type: "object", required: ["text"], properties: { text } }] },
      maxDocuments,
      "Texts, or objects with a text.",
    ),
    top_n: whole,
  }),
  ModerationRequest: object("Texts and pictures to classify.", ["input"], {
    model,
    input: {
      anyOf: [
        text,
        list(
          {
            anyOf: [text, {
              type: "object",
              required: ["type"],
              properties: { type: { type: "string", enum: ["text", "image_url"] } },
            }],
          },
          maxModerationInputs,
          "Texts, or parts of type `text` and `image_url`.",
        ),
      ],
    },
  }),
  CompletionRequest: object("A text to continue.", ["model", "prompt"], {
    model,
    prompt: {
      description: "One text for a chat model; texts or lists of tokens for a completion model.",
      anyOf: [text, list({ anyOf: oneInput }, maxPrompts, "Several prompts."), tokens],
    },
    suffix: { type: "string", description: "Completion models: what follows the text." },
    max_tokens: whole,
    n: { type: "integer", minimum: 1, maximum: maxChoices },
    best_of: { type: "integer", minimum: 1, maximum: maxChoices },
    stream: { type: "boolean", description: "Events instead of one answer." },
    stop: { anyOf: [text, { type: "array", items: text }, { type: "null" }] },
    temperature: { type: ["number", "null"] },
    top_p: { type: ["number", "null"] },
  }),
  VideoRequest: object("A video to make; what a model takes is on its page.", ["model", "prompt"], {
    model,
    prompt,
    seconds: { anyOf: [whole, { type: "string", pattern: "^[1-9]\\d{0,2}$" }] },
    size: { type: "string", description: "`<W>x<H>`, one of the model's sizes." },
    aspect_ratio: { type: "string", enum: [...aspectRatios] },
    input_reference: { anyOf: [picture, { type: "array", items: picture }] },
    last_frame: picture,
    input_video: { type: "string", format: "uri", description: "An http(s) URL." },
    resolution: text,
  }),
};

const usage: JsonObject = { type: "object", description: "What the provider reports." };

const answers: JsonObject = {
  ImageList: object("The pictures.", ["data"], {
    created: { type: "integer" },
    data: {
      type: "array",
      items: { type: "object", properties: { b64_json: text, url: text, revised_prompt: text } },
    },
    usage,
  }),
  Transcript: object("What is said in the recording.", ["text"], { text, usage }),
  EmbeddingList: object("A vector for each input.", ["data"], {
    object: text,
    model: text,
    data: {
      type: "array",
      items: {
        type: "object",
        required: ["embedding"],
        properties: {
          index: { type: "integer" },
          embedding: { anyOf: [{ type: "array", items: { type: "number" } }, text] },
        },
      },
    },
    usage,
  }),
  RankList: object("The documents, best first.", ["results"], {
    results: {
      type: "array",
      items: {
        type: "object",
        required: ["index", "relevance_score"],
        properties: { index: { type: "integer" }, relevance_score: { type: "number" } },
      },
    },
  }),
  ModerationList: object("A result for each input.", ["results"], {
    id: text,
    model: text,
    results: {
      type: "array",
      items: {
        type: "object",
        required: ["flagged"],
        properties: { flagged: { type: "boolean" }, categories: { type: "object" } },
      },
    },
  }),
  Completion: object("The continued text.", ["object", "model", "choices"], {
    id: text,
    object: { const: "text_completion" },
    model: text,
    choices: {
      type: "array",
      items: {
        type: "object",
        required: ["text", "index"],
        properties: {
          text,
          index: { type: "integer" },
          finish_reason: { type: ["string", "null"] },
        },
      },
    },
    usage,
  }),
  Video: object("A task.", ["id", "object", "model", "status", "progress", "created_at"], {
    id: text,
    object: { const: "video" },
    model: text,
    status: {
      type: "string",
      enum: ["queued", "in_progress", "completed", "failed", "cancelled"],
      description: "It ends in any state but `queued` and `in_progress`.",
    },
    progress: { type: "number", description: "Percent." },
    created_at: { type: "integer", description: "Seconds since 1970." },
    completed_at: { type: ["integer", "null"] },
    expires_at: { type: ["integer", "null"] },
    prompt: { type: "null", description: "Always null: prompts are not stored." },
    size: text,
    seconds: text,
    error: {
      anyOf: [{ type: "object", properties: { code: text, message: text } }, { type: "null" }],
    },
  }),
  VideoList: object("A page of tasks.", ["object", "data", "has_more"], {
    object: { const: "list" },
    data: { type: "array", items: ref("Video") },
    first_id: { type: ["string", "null"] },
    last_id: { type: ["string", "null"] },
    has_more: { type: "boolean" },
  }),
  VideoDeleted: object("The task that was cancelled or removed.", ["id", "object", "deleted"], {
    id: text,
    object: { const: "video.deleted" },
    deleted: { const: true },
    status: text,
    refunded: { type: "boolean" },
  }),
  File: { type: "string", format: "binary", description: "The bytes of the file." },
};

/** The schemas of this group. */
export const mediaSchemas: JsonObject = { ...requests, ...answers };
