/** Makes the files of the operator's brand, which pages load beside the style sheets: its colours, its logo, its icon. */
import type { Brand, BrandColours } from "../../../core/people/mail/brand.ts";
import { type Asset, assetPath, builtAsset, faviconText } from "./assets.ts";

/** The brand as pages show it. */
export interface ShownBrand {
  readonly name: string;
  /** The address of the logo; absent: the mark of the project. */
  readonly logo?: string;
  /** The address of the picture in tabs of browsers, and its type if it is known. */
  readonly icon: string;
  readonly iconType?: string;
  /** The path of the style sheet with its colours; absent: those of the project. */
  readonly style?: string;
  /** The origin of a logo that the gateway does not serve itself. */
  readonly logoOrigin?: string;
}

/** The brand as pages show it, and the files that they load for it. */
export interface BrandFiles {
  readonly shown: ShownBrand;
  readonly files: readonly Asset[];
}

function variables({ text, fill, onFill, hover }: BrandColours): string {
  return [
    `--pico-primary: ${text};`,
    `--pico-primary-background: ${fill};`,
    `--pico-primary-border: ${fill};`,
    `--pico-primary-underline: ${text}73;`,
    `--pico-primary-hover: ${hover};`,
    `--pico-primary-hover-background: ${hover};`,
    `--pico-primary-hover-border: ${hover};`,
    `--pico-primary-hover-underline: ${hover};`,
    `--pico-primary-focus: ${fill}73;`,
    `--pico-primary-inverse: ${onFill};`,
  ].join(" ");
}

/** The colours in the order and with the conditions of the style sheets of the themes, which they follow. */
function brandCss({ light, dark }: NonNullable<Brand["colours"]>): string {
  return [
    `[data-theme="light"], :root:not([data-theme="dark"]) { ${variables(light)} }`,
    `[data-theme="dark"] { ${variables(dark)} }`,
    `@media only screen and (prefers-color-scheme: dark) { :root:not([data-theme]) { ${
      variables(dark)
    } } }`,
    `.mark { color: ${light.fill}; }`,
  ].join("\n");
}

/** Makes the files of a brand. */
export function brandFiles({ name, logo, colours }: Brand): BrandFiles {
  const style = colours &&
    builtAsset("brand.css", { type: "text/css; charset=utf-8", text: brandCss(colours) });
  const svg = { type: "image/svg+xml" } as const;
  const drawing = logo?.kind === "svg"
    ? builtAsset("brand.svg", { ...svg, text: logo.text })
    : undefined;
  const icon = drawing === undefined && logo === undefined && colours !== undefined
    ? builtAsset("brand-icon.svg", {
      ...svg,
      text: faviconText.replace("#0f766e", colours.light.fill),
    })
    : drawing;
  const address = logo?.kind === "address" ? logo.url : undefined;
  const shownLogo = drawing?.path ?? address;
  return {
    shown: {
      name,
      icon: icon?.path ?? address ?? assetPath("favicon.svg"),
      ...(address === undefined ? { iconType: svg.type } : { logoOrigin: new URL(address).origin }),
      ...(shownLogo !== undefined && { logo: shownLogo }),
      ...(style !== undefined && { style: style.path }),
    },
    files: [style, drawing, icon].filter((file) => file !== undefined),
  };
}
