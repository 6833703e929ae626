/** Facts of each model that the playground has to know: prices, abilities, and the values of its form. */
import type { Catalog, Model } from "../../../../core/catalog/catalog.ts";
import { modelAbilities } from "../../../../core/catalog/model_abilities.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { microVndOf } from "../../../../core/billing/money/micro_vnd.ts";
import { videoRulesOf } from "../../../../core/catalog/entries/video_rules.ts";
import type { Locale } from "../../text/i18n.ts";
import { priceLines } from "../../text/model_prices.ts";
import type { Context } from "hono";
import { billedInputTokens } from "../../../../core/billing/tokens/token_bounds.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { failureOf } from "../../../../core/billing/usage/call_failure.ts";
import { formatCount, formatDuration, formatMoneyShort } from "../../text/format.ts";
import { usageTexts } from "../usage/texts.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { PostedForm } from "../../page/form_data.ts";
import type { RelayedPath } from "./relay.ts";

// The figures under an answer of the playground, from the receipt of its call.

/** The figures, formatted. */
export interface CallSummary {
  readonly cost: string;
  /** Absent for calls that are not billed by the token. */
  readonly input?: string;
  readonly output?: string;
  readonly time: string;
  readonly receipt: string;
}

function summaryOf(receipt: Receipt, locale: Locale): CallSummary {
  const { usage, costMicroVnd, latencyMs, requestId } = receipt;
  return {
    cost: costMicroVnd === 0n && failureOf(receipt) !== undefined
      ? usageTexts[locale].notCharged
      : formatMoneyShort(costMicroVnd, locale),
    ...(usage !== undefined && {
      input: formatCount(billedInputTokens(usage), locale),
      output: formatCount(usage.output, locale),
    }),
    time: formatDuration(latencyMs, locale),
    receipt: `/receipts/${requestId}`,
  };
}

/** Reads the figures of a call of the account; `undefined` while it has no receipt. */
export async function readCallSummary(
  c: Context<DashboardEnv>,
  deps: Pick<DashboardDeps, "kv">,
  id: string,
): Promise<CallSummary | undefined> {
  const requestId = parseId("request", id);
  const receipt = requestId === undefined ? undefined : await readReceipt(deps.kv, requestId);
  return receipt?.accountId === c.get("signedIn").account.id
    ? summaryOf(receipt, c.get("visitor").locale)
    : undefined;
}

/** The kinds of models that the playground can call. */
export const playgroundKinds = ["chat", "image", "speech", "video"] as const;
export type PlaygroundKind = typeof playgroundKinds[number];

/** Prices as numbers, for estimates only: receipts have the exact sums. */
type Estimate =
  | { readonly unit: "token"; readonly input: number; readonly output: number }
  | { readonly unit: "each"; readonly each: number }
  | {
    readonly unit: "length";
    readonly tiers: readonly {
      readonly from: number;
      readonly to: number;
      readonly each: number;
    }[];
  };

/** One model of the playground; the page's script reads it. */
export interface PlaygroundModel {
  readonly id: string;
  readonly name: string;
  readonly kind: PlaygroundKind;
  readonly vision: boolean;
  readonly maxOutput: number;
  readonly efforts: readonly string[];
  readonly temperature: boolean;
  /** The price in words. */
  readonly price: string;
  /** In VND. */
  readonly estimate: Estimate;
  /** Lengths in seconds and sizes; empty for other models than those of video. */
  readonly seconds: readonly number[];
  readonly sizes: readonly string[];
}

/** Lengths that the form offers of a range; all of a range of thirty seconds would be a long list. */
const shownLengths = 12;

function vnd(microVnd: bigint): number {
  return Number(microVnd) / 1e6;
}

function estimateOf({ price }: Model): Estimate {
  if (price.unit === "video") {
    const tiers = price.tiers.map(({ fromSeconds: from, toSeconds: to, vnd: written }) => ({
      from,
      to,
      each: vnd(microVndOf(written)),
    }));
    return { unit: "length", tiers };
  }
  const applied = applyPrice(price);
  return applied.unit === "token"
    ? {
      unit: "token",
      input: vnd(applied.inputPerMtokMicroVnd) / 1e6,
      output: vnd(applied.outputPerMtokMicroVnd) / 1e6,
    }
    : { unit: "each", each: vnd(applied.perUnitMicroVnd) };
}

function videoChoices(model: Model): Pick<PlaygroundModel, "seconds" | "sizes"> {
  if (model.kind !== "video") return { seconds: [], sizes: [] };
  const rules = videoRulesOf(model);
  const seconds = rules.seconds.flatMap(({ from, to }) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at)
  );
  return {
    seconds: seconds.slice(0, shownLengths),
    sizes: rules.sizes.map(({ size }) => size),
  };
}

function isPlaygroundKind(kind: Model["kind"]): kind is PlaygroundKind {
  return playgroundKinds.some((one) => one === kind);
}

/** Lists the models that the playground can call, in the order of the catalogue. */
export function playgroundModels(
  { models, listRate }: Pick<Catalog, "models" | "listRate">,
  locale: Locale,
): PlaygroundModel[] {
  return models.flatMap((model): PlaygroundModel[] => {
    const { kind } = model;
    if (!isPlaygroundKind(kind)) return [];
    const { efforts, takesTemperature } = modelAbilities(model);
    return [{
      id: model.id,
      name: model.displayName,
      kind,
      vision: model.vision,
      maxOutput: model.maxOutputTokens,
      efforts,
      temperature: takesTemperature,
      price: priceLines(model.price, listRate, locale)
        .map(({ amount, unit }) => `${amount} ${unit}`).join(" · "),
      estimate: estimateOf(model),
      ...videoChoices(model),
    }];
  });
}

// Makes a request of the API from the form of the playground, for browsers without script.

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

/** A number of the form; another text stays as it is, so that the API refuses it by name. */
function numberOf(text: string): number | string | undefined {
  const value = Number(text.replace(",", "."));
  if (text === "") return undefined;
  return Number.isFinite(value) ? value : text;
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
