/** Makes a request of the API from the form of the playground, for browsers without script. */
import type { PostedForm } from "../../page/form_data.ts";
import type { PlaygroundModel } from "./models.ts";
import type { RelayedPath } from "./relay.ts";

/** A request of the API: what is sent, and what is copied as code. */
export interface ApiRequest {
  readonly path: RelayedPath;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Characters of a message; longer texts belong into programs. */
export const maxPromptChars = 100_000;

/** Output tokens by default: enough for a long answer, and a small sum to reserve. */
export const usualOutputTokens = 2_048;

/** The voices and formats of the form. A provider may know others, which programs can name. */
export const voices = ["alloy", "ash", "coral", "echo", "nova", "sage", "shimmer"] as const;
export const speechFormats = ["mp3", "wav"] as const;
/** The sizes of pictures in the form. */
export const imageSizes = ["1024x1024", "1024x1536", "1536x1024"] as const;

function numberOf(text: string): number | undefined {
  const value = Number(text.replace(",", "."));
  return text === "" || !Number.isFinite(value) ? undefined : value;
}

function chatRequest(form: PostedForm, model: PlaygroundModel, prompt: string): ApiRequest {
  const system = form.text("system");
  const temperature = numberOf(form.text("temperature"));
  const effort = form.text("effort");
  return {
    path: "/v1/chat/completions",
    body: {
      model: model.id,
      messages: [
        ...system === "" ? [] : [{ role: "system", content: system }],
        { role: "user", content: prompt },
      ],
      max_tokens: numberOf(form.text("max_tokens")) ?? usualOutputTokens,
      ...(temperature !== undefined && model.temperature && { temperature }),
      ...(model.efforts.includes(effort) && { reasoning_effort: effort }),
    },
  };
}

/** Reads the form; the fields of other kinds of models do not count. */
export function requestOfForm(form: PostedForm, model: PlaygroundModel): ApiRequest {
  const prompt = form.text("prompt").slice(0, maxPromptChars);
  switch (model.kind) {
    case "chat":
      return chatRequest(form, model, prompt);
    case "image":
      return {
        path: "/v1/images/generations",
        body: {
          model: model.id,
          prompt,
          size: form.text("image_size"),
          n: numberOf(form.text("n")) ?? 1,
        },
      };
    case "speech":
      return {
        path: "/v1/audio/speech",
        body: {
          model: model.id,
          input: prompt,
          voice: form.text("voice"),
          response_format: form.text("format"),
        },
      };
    case "video":
      return {
        path: "/v1/videos",
        body: {
          model: model.id,
          prompt,
          seconds: form.text("seconds"),
          size: form.text("video_size"),
        },
      };
  }
}
