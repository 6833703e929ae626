/**
 * Serves style sheets and scripts from memory, under names that contain their hash: browsers may cache them for ever,
 * and a new version has a new name. They are text imports, so a fresh install needs no build step, no CDN and no
 * permission to read files.
 *
 * - Folder `routes/dashboard/assets/`: style sheets, scripts and icons, as they are served.
 * - In: files of the folders below and of packages, as text.
 * - Out: responses under names that contain a hash.
 * - Never: reads a file when a request comes, or loads anything from another host.
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import picoCss from "@picocss/pico/css/pico.min.css" with { type: "text" };
import htmxScript from "htmx.org/dist/htmx.min.js" with { type: "text" };
import uplotScript from "uplot/dist/uPlot.iife.min.js" with { type: "text" };
import uplotCss from "uplot/dist/uPlot.min.css" with { type: "text" };
import { Hono } from "hono";
import appScript from "./scripts/app.js" with { type: "text" };
import axisLabelsScript from "./scripts/axis_labels.js" with { type: "text" };
import chartScript from "./scripts/chart.js" with { type: "text" };
import playgroundApiScript from "./playground/api.js" with { type: "text" };
import playgroundChatScript from "./playground/chat.js" with { type: "text" };
import playgroundCodeScript from "./playground/code.js" with { type: "text" };
import playgroundDialogScript from "./playground/code_dialog.js" with { type: "text" };
import playgroundTurnsScript from "./playground/conversation.js" with { type: "text" };
import playgroundDomScript from "./playground/dom.js" with { type: "text" };
import playgroundEstimateScript from "./playground/estimate.js" with { type: "text" };
import playgroundMainScript from "./playground/main.js" with { type: "text" };
import playgroundMarkdownScript from "./playground/markdown.js" with { type: "text" };
import playgroundMediaScript from "./playground/media.js" with { type: "text" };
import playgroundPicturesScript from "./playground/pictures.js" with { type: "text" };
import playgroundReplyScript from "./playground/reply.js" with { type: "text" };
import playgroundCss from "./styles/playground.css" with { type: "text" };
import figuresScript from "./scripts/figures.js" with { type: "text" };
import logScript from "./scripts/log.js" with { type: "text" };
import passkeyScript from "./scripts/passkey.js" with { type: "text" };
import proofScript from "./scripts/proof.js" with { type: "text" };
import proofCheckScript from "../../../core/trade/proofs/check_document.js" with { type: "text" };
import connectScript from "./scripts/connect.js" with { type: "text" };
import trialScript from "./scripts/trial.js" with { type: "text" };
import componentsCss from "./styles/components.css" with { type: "text" };
import darkThemeCss from "./styles/dark_theme.css" with { type: "text" };
import logCss from "./styles/log.css" with { type: "text" };
import layoutCss from "./styles/layout.css" with { type: "text" };
import publicCss from "./styles/public.css" with { type: "text" };
import docsCss from "./styles/docs.css" with { type: "text" };
import operatorCss from "./styles/operator.css" with { type: "text" };
import walletCss from "./styles/wallet.css" with { type: "text" };
import themeCss from "./styles/theme.css" with { type: "text" };
import favicon from "./scripts/favicon.svg" with { type: "text" };
import { acceptsGzip } from "../../http/accepts_gzip.ts";

const css = "text/css; charset=utf-8";
const script = "text/javascript; charset=utf-8";

/** Pico styles links as buttons by `role="button"`, which is wrong for screen readers: a class does it here. */
const pico = picoCss.replaceAll("[role=button]", ".button");

/**
 * Dark colours apply if the visitor chose them, and if the visitor chose nothing and the system is dark. One rule
 * cannot have both conditions, so the written one is repeated.
 */
const darkBySystem = `@media only screen and (prefers-color-scheme: dark) {
${darkThemeCss.replace('[data-theme="dark"]', ":root:not([data-theme])")}}`;

/**
 * Joins modules to one script, in the order of their imports: one request instead of a dozen, and no names of files in
 * them that would need hashes. The modules share a scope, so no two may have the same name at their top level.
 */
function joined(...modules: readonly string[]): string {
  const bodies = modules.map((text) =>
    text.replaceAll(/^import \{[^;]*\} from "[^"]*";\n/gm, "").replaceAll(/^export /gm, "")
  );
  return `(() => {\n"use strict";\n${bodies.join("\n")}})();\n`;
}

const playgroundScript = joined(
  figuresScript,
  playgroundDomScript,
  playgroundMarkdownScript,
  playgroundCodeScript,
  playgroundApiScript,
  playgroundEstimateScript,
  playgroundPicturesScript,
  playgroundReplyScript,
  playgroundChatScript,
  playgroundMediaScript,
  playgroundTurnsScript,
  playgroundDialogScript,
  playgroundMainScript,
);

const sources = {
  "app.css": {
    type: css,
    text: [pico, themeCss, darkThemeCss, darkBySystem, layoutCss, componentsCss, logCss, walletCss]
      .join(
        "\n",
      ),
  },
  "app.js": { type: script, text: appScript },
  "htmx.js": { type: script, text: htmxScript },
  "docs.css": { type: css, text: docsCss },
  "public.css": { type: css, text: publicCss },
  "chart.css": { type: css, text: uplotCss },
  "chart.js": {
    type: script,
    text: [uplotScript, joined(axisLabelsScript, figuresScript, chartScript)].join("\n"),
  },
  "log.js": { type: script, text: logScript },
  "connect.js": { type: script, text: connectScript },
  "passkey.js": { type: script, text: passkeyScript },
  "trial.js": { type: script, text: trialScript },
  "proof.js": { type: script, text: proofScript },
  "proof_check.js": { type: script, text: proofCheckScript },
  "playground.js": { type: script, text: playgroundScript },
  "playground.css": { type: css, text: playgroundCss },
  "operator.css": { type: css, text: operatorCss },
  "favicon.svg": { type: "image/svg+xml", text: favicon },
} as const;

/** The names of assets, without their hashes. */
export type AssetName = keyof typeof sources;

/** A file in memory. */
export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

let built: ReadonlyMap<string, Asset> | undefined;

/** Builds the assets on first use, so that a process that serves only the API does not pay for them. */
function assets(): ReadonlyMap<string, Asset> {
  built ??= new Map(
    Object.entries(sources).map(([name, source]) => [name, builtAsset(name, source)]),
  );
  return built;
}

/** Makes a file, under a path with its hash. */
export function builtAsset(
  name: string,
  { type, text }: { readonly type: string; readonly text: string },
): Asset {
  const plain = new TextEncoder().encode(text);
  const hash = createHash("sha256").update(plain).digest("hex").slice(0, 12);
  const dot = name.lastIndexOf(".");
  const path = `/assets/${name.slice(0, dot)}.${hash}${name.slice(dot)}`;
  return { path, type, plain, gzipped: new Uint8Array(gzipSync(plain, { level: 9 })) };
}

/** The icon of the project. */
export const faviconText: string = favicon;

/** Returns the path of an asset, hash included. */
export function assetPath(name: AssetName): string {
  return assets().get(name)!.path;
}

/**
 * Serves `/assets/*`.
 *
 * @param more files beside those of the project
 */
export function createAssetRoutes(more: readonly Asset[] = []): Hono {
  const byPath = new Map([...assets().values(), ...more].map((asset) => [asset.path, asset]));
  return new Hono().get("/assets/:file", (c) => {
    const asset = byPath.get(c.req.path);
    if (asset === undefined) return c.text("Not found", 404);
    const zipped = acceptsGzip(c.req.header("accept-encoding"));
    return c.body(zipped ? asset.gzipped : asset.plain, 200, {
      "content-type": asset.type,
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      vary: "accept-encoding",
      ...(zipped && { "content-encoding": "gzip" }),
    });
  });
}
