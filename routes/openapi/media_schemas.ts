/** Schemas of the endpoints beside chat. Those of requests are the fields by which they are read. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { objectSchema } from "../../core/lib/json/schemas.ts";
import { completionAnswerSchema } from "../../core/media/completion/attempt.ts";
import { completionFields } from "../../core/media/completion/request.ts";
import { embeddingAnswerSchema, embeddingFields } from "../../core/media/embeddings/request.ts";
import {
  geminiEmbeddingAnswers,
  geminiEmbeddingBatchFields,
  geminiEmbeddingFields,
} from "../../core/media/embeddings/gemini_form.ts";
import { imageAnswerSchema } from "../../core/media/images/answer.ts";
import { imageEditFields, imageFields } from "../../core/media/images/request.ts";
import { moderationAnswerSchema, moderationFields } from "../../core/media/moderation/request.ts";
import { rerankAnswerSchema, rerankFields } from "../../core/media/rerank/request.ts";
import { speechFields } from "../../core/media/speech/attempt.ts";
import { transcriptionFields, transcriptSchema } from "../../core/media/transcription/attempt.ts";
import { videoFields } from "../../core/media/video/request.ts";
import {
  videoAnswerFields,
  videoDeletedFields,
  videoListFields,
} from "../../core/media/video/task.ts";

const requests: JsonObject = {
  ImageRequest: objectSchema("A request for pictures.", imageFields),
  ImageEditRequest: objectSchema("A request to change pictures.", imageEditFields),
  SpeechRequest: objectSchema("A text to speak.", speechFields),
  TranscriptionRequest: objectSchema("A recording.", transcriptionFields),
  EmbeddingRequest: objectSchema("Texts to turn into vectors.", embeddingFields),
  EmbedContentRequest: objectSchema("A text to turn into a vector.", geminiEmbeddingFields),
  BatchEmbedContentsRequest: objectSchema(
    "Texts to turn into vectors.",
    geminiEmbeddingBatchFields,
  ),
  RerankRequest: objectSchema("Documents to rank by a query.", rerankFields),
  ModerationRequest: objectSchema("Texts and pictures to classify.", moderationFields),
  CompletionRequest: objectSchema("A text to continue.", completionFields),
  VideoRequest: objectSchema("A video to make; what a model takes is on its page.", videoFields),
};

const answers: JsonObject = {
  ImageList: imageAnswerSchema,
  Transcript: transcriptSchema,
  EmbeddingList: embeddingAnswerSchema,
  EmbedContentResponse: geminiEmbeddingAnswers.embedContent,
  BatchEmbedContentsResponse: geminiEmbeddingAnswers.batchEmbedContents,
  RankList: rerankAnswerSchema,
  ModerationList: moderationAnswerSchema,
  Completion: completionAnswerSchema,
  Video: objectSchema("A task.", videoAnswerFields),
  VideoList: objectSchema("A page of tasks.", videoListFields),
  VideoDeleted: objectSchema("The task that was cancelled or removed.", videoDeletedFields),
  File: { type: "string", format: "binary", description: "The bytes of the file." },
};

/** The schemas of this group. */
export const mediaSchemas: JsonObject = { ...requests, ...answers };
