/** Reads the operator's brand: the name, logo and colour that customers see on pages, in mails and in documents. */
import { parseUrl } from "../../lib/runtime/built_ins.ts";

/** The colours of links, buttons and marks in one theme, each as `#rrggbb`. */
export interface BrandColours {
  /** Of links on the page. */
  readonly text: string;
  /** Of buttons, with the colour of the words on them. */
  readonly fill: string;
  readonly onFill: string;
  /** Of what the pointer is over. */
  readonly hover: string;
}

/** The logo: an SVG that the gateway serves itself, or a picture at an address. */
export type BrandLogo =
  | { readonly kind: "svg"; readonly text: string }
  | { readonly kind: "address"; readonly url: string };

/** The operator's brand. */
export interface Brand {
  readonly name: string;
  /** Absent: the mark of the project. */
  readonly logo?: BrandLogo;
  /** Absent: the colours of the project. */
  readonly colours?: { readonly light: BrandColours; readonly dark: BrandColours };
}

/** The brand of a gateway whose operator has set none. */
export const defaultBrand: Brand = { name: "Model Gateway" };

/** The least contrast of text by WCAG 2.2, level AA. */
const minContrast = 4.5;

/** The surfaces that text stands on: pages, cards, and what is marked, as the style sheets of the themes have them. */
export const surfaces = {
  light: ["#f6f7f8", "#ffffff", "#f0f3f4"],
  dark: ["#10161b", "#182026", "#1e282f"],
} as const;

type Theme = keyof typeof surfaces;

type Channels = readonly [number, number, number];

function channelsOf(colour: string): Channels {
  const part = (at: number) => parseInt(colour.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

/** The relative luminance of a colour (WCAG 2.2). */
function luminanceOf(colour: string): number {
  const [red, green, blue] = channelsOf(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

/**
 * Returns the contrast of two colours, from 1 to 21.
 *
 * @example
 * ```ts
 * import { contrastOf } from "./brand.ts";
 * if (contrastOf("#000000", "#ffffff") !== 21) throw new Error("black on white has the most");
 * ```
 */
export function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Moves a colour towards black or white. */
function mixed(colour: string, end: "#000000" | "#ffffff", share: number): string {
  const target = channelsOf(end);
  const channels = channelsOf(colour).map((channel, at) =>
    Math.round(channel + ((target[at] ?? 0) - channel) * share)
  );
  return `#${channels.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

/** The least contrast of a colour with what it stands on in a theme. */
function leastContrast(colour: string, theme: Theme): number {
  return Math.min(...surfaces[theme].map((surface) => contrastOf(colour, surface)));
}

/** The words on a button: the one of these that is read better. */
const wordColours = ["#ffffff", "#0b1114"] as const;

function onFillOf(fill: string): string {
  const [light, dark] = wordColours;
  return contrastOf(fill, light) >= minContrast ? light : dark;
}

/** Returns the nearest colour of the same hue that can be read in a theme. */
export function readableIn(theme: Theme, colour: string): string {
  const end = theme === "light" ? "#000000" : "#ffffff";
  for (let percent = 0; percent < 100; percent++) {
    const tried = mixed(colour, end, percent / 100);
    if (leastContrast(tried, theme) >= minContrast) return tried;
  }
  return end;
}

function coloursIn(theme: Theme, colour: string): BrandColours {
  const hover = mixed(colour, theme === "light" ? "#000000" : "#ffffff", 0.22);
  return { text: colour, fill: colour, onFill: onFillOf(colour), hover };
}

const colourForm = /^#[0-9a-f]{6}$/;

const colourProblem =
  "must be a colour such as #0f766e, or two with a comma: for light and for dark pages";

/** Colours that were read, or what is wrong with them. */
export type ReadColours =
  | { readonly ok: true; readonly colours: NonNullable<Brand["colours"]> }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads `GATEWAY_BRAND_COLOUR`. Each colour has to be readable on the pages of its theme; the one for dark pages is made
 * of the other if it is not written.
 *
 * @example
 * ```ts
 * import { readColours } from "./brand.ts";
 * const read = readColours("#1d4ed8");
 * if (!read.ok || read.colours.light.text !== "#1d4ed8") throw new Error("a dark blue is readable");
 * if (readColours("#ffd400").ok) throw new Error("yellow on white");
 * ```
 */
export function readColours(text: string): ReadColours {
  const written = text.toLowerCase().split(",").map((part) => part.trim());
  const [light = "", dark = readableIn("dark", light), ...others] = written;
  if (others.length > 0 || !colourForm.test(light) || !colourForm.test(dark)) {
    return { ok: false, problem: colourProblem };
  }
  for (const [theme, colour] of [["light", light], ["dark", dark]] as const) {
    const contrast = leastContrast(colour, theme);
    if (contrast >= minContrast) continue;
    // Rounded down: 4.49 would read as the 4.5 that it is not.
    const shown = Math.floor(contrast * 10) / 10;
    return {
      ok: false,
      problem: `${colour} has a contrast of ${shown} on ${theme} pages, where ${minContrast} is ` +
        `needed; ${readableIn(theme, colour)} is the nearest that can be read`,
    };
  }
  return {
    ok: true,
    colours: { light: coloursIn("light", light), dark: coloursIn("dark", dark) },
  };
}

/** Characters of a logo: a drawing of a few shapes has some thousands. */
const maxLogoChars = 64 * 1024;

/** Contents that a drawing may not have: what runs, and what is loaded from elsewhere. */
const refusedInLogo: readonly (readonly [RegExp, string])[] = [
  [/<!DOCTYPE|<!ENTITY/i, "a document type"],
  [/<script/i, "a script"],
  [/<foreignObject/i, "foreign content"],
  [/\son[a-z]+\s*=/i, "an event handler"],
  [/@import|@font-face/i, "an imported style or font"],
  [/(?:href|src)\s*=\s*["']\s*(?!#|data:image\/)/i, "a reference to something outside"],
  [/url\(\s*["']?\s*(?!["']?#|data:image\/)/i, "a reference to something outside"],
];

/** Describes what is wrong with the text of a logo; `undefined`: nothing. */
export function logoProblem(text: string): string | undefined {
  if (text.length > maxLogoChars) return `is larger than ${maxLogoChars / 1024} KB`;
  const drawing = text.replace(/^\uFEFF/, "").replace(/^\s*<\?xml[^>]*\?>/, "")
    .replaceAll(/<!--.*?-->/gs, "").trim();
  if (!/^<svg[\s>]/.test(drawing) || !drawing.endsWith("</svg>")) return "is not an SVG file";
  if (!/^<svg[^>]*\sviewBox\s*=/.test(drawing)) {
    return "needs a viewBox: without it the drawing cannot be scaled";
  }
  const found = refusedInLogo.find(([form]) => form.test(drawing));
  return found && `has ${found[1]}; a logo is a drawing alone`;
}

/** Logo that was read, or what is wrong with it. */
export type ReadLogo =
  | { readonly ok: true; readonly logo: BrandLogo }
  | { readonly ok: false; readonly problem: string };

/** Whether `GATEWAY_BRAND_LOGO` is an address, and no file. */
export function isLogoAddress(written: string): boolean {
  return /^[a-z]+:\/\//i.test(written);
}

/**
 * Reads `GATEWAY_BRAND_LOGO`.
 *
 * @param file text of the file that it names, or why it could not be read
 */
export function readLogo(
  written: string,
  file: string | { readonly problem: string } | undefined,
): ReadLogo {
  if (isLogoAddress(written)) {
    const url = parseUrl(written);
    const isPlain = url?.protocol === "https:" && url.username === "" && url.password === "" &&
      !/[\s;,'"]/.test(written);
    return isPlain
      ? { ok: true, logo: { kind: "address", url: url.href } }
      : { ok: false, problem: "must be the path of an SVG file, or an https address" };
  }
  if (file === undefined || typeof file !== "string") {
    return { ok: false, problem: file?.problem ?? "cannot be read" };
  }
  const problem = logoProblem(file);
  return problem === undefined
    ? { ok: true, logo: { kind: "svg", text: file } }
    : { ok: false, problem: `${written} ${problem}` };
}
