/** The prices of a model as lines of text, for the page of models. */
import { formatDecimal } from "../../../core/billing/money/display.ts";
import { type CountedTool, countedTools } from "../../../core/billing/usage/hosted_tools.ts";
import { listFigure, microVndOf, type WrittenVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type CataloguePrice, toolPricesOf } from "../../../core/billing/price.ts";
import { decimalsOf, formatCount, formatMoney, formatMoneyTo } from "./format.ts";
import { definePairs, defineTexts, type Locale } from "./i18n.ts";

const texts = defineTexts({
  both: {
    perMtok: ["per 1M tokens", "mỗi 1 triệu token"],
    audioIn: ["audio in", "âm thanh vào"],
    imageIn: ["images in", "hình ảnh vào"],
    audioOut: ["audio out", "âm thanh ra"],
    imageOut: ["images out", "hình ảnh ra"],
    perRequest: ["per call", "mỗi lượt gọi"],
    perImage: ["per image", "mỗi ảnh"],
    perSearch: ["per search", "mỗi lượt tìm"],
    perMinute: ["per minute", "mỗi phút"],
  },
  en: {
    perMtokAbove: (tokens: string) => `per 1M tokens, prompts above ${tokens} tokens`,
    perUse: (tool: string) => `${tool}, each`,
    perCallWith: (tool: string) => `${tool}, per call`,
    tier: (name: string) => `service tier ${name}`,
    perMtokOf: (kind: string) => `per 1M tokens of ${kind}`,
    seconds: (from: number, to: number) => from === to ? `${from} s` : `${from}–${to} s`,
    inOut: (input: string, output: string) => `${input}\u00a0in · ${output}\u00a0out`,
  },
  vi: {
    perMtokAbove: (tokens: string) => `mỗi 1 triệu token, prompt trên ${tokens} token`,
    perUse: (tool) => `${tool}, mỗi lần`,
    perCallWith: (tool) => `${tool}, mỗi lượt gọi`,
    tier: (name) => `hạng dịch vụ ${name}`,
    perMtokOf: (kind) => `mỗi 1 triệu token ${kind}`,
    seconds: (from, to) => from === to ? `${from} giây` : `${from}–${to} giây`,
    inOut: (input, output) => `${input}\u00a0vào · ${output}\u00a0ra`,
  },
});

/** A line of a price: an amount, what it is for, and the list figure. */
export interface PriceLine {
  readonly amount: string;
  readonly unit: string;
  readonly list: string;
}

/** Prices of tokens that the page shows; those of caches are in the API. */
interface TokenFigures {
  readonly vndPerMtok: WrittenVnd;
  readonly outputVndPerMtok?: WrittenVnd | undefined;
}

/** Names for customers of the tools that providers run. */
export const hostedToolNames: Readonly<Record<Locale, Record<CountedTool, string>>> = definePairs({
  web_search: ["Web search", "Tìm trên web"],
  web_fetch: ["Web page", "Đọc trang web"],
  code_execution: ["Code execution", "Chạy mã"],
  file_search: ["File search", "Tìm trong tệp"],
  image_generation: ["Image in a chat", "Vẽ ảnh trong hội thoại"],
});

/** Formats a price as lines: those of its unit, then {@linkcode furtherLines}. */
export function priceLines(price: CataloguePrice, listRate: number, locale: Locale): PriceLine[] {
  return [...unitLines(price, listRate, locale), ...furtherLines(price, listRate, locale)];
}

/** Formats what a price has beyond its unit: tokens of sound and pictures, tiers of service, fees of hosted tools. */
export function furtherLines(
  price: CataloguePrice,
  listRate: number,
  locale: Locale,
): PriceLine[] {
  return [...tokenLines(price, listRate, locale), ...toolLines(price, listRate, locale)];
}

function tokenLines(price: CataloguePrice, listRate: number, locale: Locale): PriceLine[] {
  if (price.unit !== "token") return [];
  const t = texts[locale];
  const mediaLines = media.flatMap(([rate, kind]): PriceLine[] => {
    const vnd = price[rate];
    if (vnd === undefined) return [];
    const microVnd = microVndOf(vnd);
    return [{
      amount: formatMoney(microVnd, locale),
      unit: t.perMtokOf(t[kind]),
      list: formatDecimal(listFigure(microVnd, listRate), locale),
    }];
  });
  const tierLines = Object.entries(price.serviceTiers ?? {}).map(([tier, factor]): PriceLine => ({
    amount: `× ${formatDecimal(String(factor), locale)}`,
    unit: t.tier(tier),
    list: "",
  }));
  return [...mediaLines, ...tierLines];
}

function toolLines(price: CataloguePrice, listRate: number, locale: Locale): PriceLine[] {
  const t = texts[locale];
  const prices = toolPricesOf(price) ?? {};
  return countedTools.flatMap((tool): PriceLine[] => {
    const fee = prices[tool];
    if (fee === undefined) return [];
    const name = hostedToolNames[locale][tool];
    const isPerCall = "vndPerCall" in fee;
    const microVnd = microVndOf(isPerCall ? fee.vndPerCall : fee.vndPerUse);
    return [{
      amount: formatMoney(microVnd, locale),
      unit: isPerCall ? t.perCallWith(name) : t.perUse(name),
      list: formatDecimal(listFigure(microVnd, listRate), locale),
    }];
  });
}

/** The rates of tokens that are no text, with the names of their kinds. */
const media = [
  ["inputAudioVndPerMtok", "audioIn"],
  ["inputImageVndPerMtok", "imageIn"],
  ["outputAudioVndPerMtok", "audioOut"],
  ["outputImageVndPerMtok", "imageOut"],
] as const;

/** Formats the price of a unit: one line, one more for long prompts, or one per length of a video. */
function unitLines(price: CataloguePrice, listRate: number, locale: Locale): PriceLine[] {
  const t = texts[locale];
  const money = (vnd: WrittenVnd) => formatMoney(microVndOf(vnd), locale);
  const list = (vnd: WrittenVnd) => formatDecimal(listFigure(microVndOf(vnd), listRate), locale);
  switch (price.unit) {
    case "token": {
      const line = (rates: TokenFigures, unit: string): PriceLine => {
        const output = rates.outputVndPerMtok ?? rates.vndPerMtok;
        const same = output === rates.vndPerMtok;
        const amounts = [rates.vndPerMtok, output].map(microVndOf);
        const [input = "", outputText = ""] = amounts
          .map((one) => formatMoneyTo(one, locale, decimalsOf(amounts)));
        return {
          amount: same ? outputText : t.inOut(input, outputText),
          unit,
          list: same ? list(output) : t.inOut(list(rates.vndPerMtok), list(output)),
        };
      };
      const { longPrompt } = price;
      if (longPrompt === undefined) return [line(price, t.perMtok)];
      const above = formatCount(longPrompt.aboveTokens, locale);
      return [line(price, t.perMtok), line(longPrompt, t.perMtokAbove(above))];
    }
    case "request":
      return [{ amount: money(price.vnd), unit: t.perRequest, list: list(price.vnd) }];
    case "image":
      return [{ amount: money(price.vnd), unit: t.perImage, list: list(price.vnd) }];
    case "search":
      return [{ amount: money(price.vnd), unit: t.perSearch, list: list(price.vnd) }];
    case "second": {
      const { vndPerMinute } = price;
      return [{ amount: money(vndPerMinute), unit: t.perMinute, list: list(vndPerMinute) }];
    }
    case "video":
      return price.tiers.map(({ fromSeconds, toSeconds, vnd }) => ({
        amount: money(vnd),
        unit: t.seconds(fromSeconds, toSeconds),
        list: list(vnd),
      }));
  }
}
