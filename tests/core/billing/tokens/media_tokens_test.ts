import { assertEquals } from "../../../support/assert.ts";
import {
  base64ImageTokens,
  base64PdfTokens,
  imageSize,
  imageTokens,
  tokensOfUnseenImage,
  tokensOfUnseenPage,
} from "../../../../core/billing/tokens/rough_estimate.ts";

const latin = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));
const base64 = (text: string): string => btoa(text);

const png = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02\0\0\0";
const webp = (kind: string, tail: string): string => `RIFF\x24\0\0\0WEBP${kind}\x18\0\0\0${tail}`;
const jpegProfile = `\xff\xe1\x00\x0a${"x".repeat(8)}`;
const jpegFrame = "\xff\xc2\x00\x11\x08\x01\xe0\x02\x80\x03\x01\x11\0\x02\x11\x01\x03\x11\x01";

const pictures: Record<string, string> = {
  "a PNG": png,
  "a GIF": "GIF89a\x80\x02\xe0\x01\xf7\0\0",
  "a JPEG behind a profile": `\xff\xd8${jpegProfile}${jpegFrame}`,
  "a JPEG with fill bytes": `\xff\xd8\xff${jpegFrame}`,
  "a lossy WebP": webp("VP8 ", `\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01${"\0".repeat(8)}`),
  "a lossless WebP": webp("VP8L", `\x2f\x7f\xc2\x77\x00${"\0".repeat(12)}`),
  "an extended WebP": webp("VP8X", `\0\0\0\0\x7f\x02\0\xdf\x01\0${"\0".repeat(8)}`),
};

for (const [name, file] of Object.entries(pictures)) {
  Deno.test(`the size of ${name} is read from its first bytes`, () => {
    assertEquals(imageSize(latin(file)), { width: 640, height: 480 });
    assertEquals(base64ImageTokens(base64(file)), imageTokens(640, 480));
  });
  Deno.test(`${name} that is cut short has no size and costs the most`, () => {
    assertEquals(imageSize(latin(file.slice(0, 8))), undefined);
    assertEquals(base64ImageTokens(base64(file.slice(0, 8))), tokensOfUnseenImage);
  });
}

Deno.test("a picture costs its pixels by 750, scaled to the long edge", () => {
  assertEquals(imageTokens(1, 1), 1);
  assertEquals(imageTokens(1000, 1000), 1334);
  assertEquals(imageTokens(3136, 100), Math.ceil(1568 * 50 / 750));
  assertEquals(imageTokens(1568, 1568), tokensOfUnseenImage);
});

Deno.test("a picture that is not base64 costs the most", () => {
  assertEquals(base64ImageTokens("%%%"), tokensOfUnseenImage);
});

Deno.test("the pages of a PDF are counted by their marks", () => {
  const twoPages = "%PDF-1.7 /Type /Page /Type/Page /Type /Pages";
  assertEquals(base64PdfTokens(base64(twoPages)), 2 * tokensOfUnseenPage);
  assertEquals(base64PdfTokens(base64("%PDF-1.7 << /Count 12 >>")), 12 * tokensOfUnseenPage);
});

Deno.test("a PDF that hides its pages is counted by its size", () => {
  assertEquals(base64PdfTokens(base64("%PDF" + "x".repeat(1000))), tokensOfUnseenPage);
  assertEquals(base64PdfTokens(base64("x".repeat(200_000))), 4 * tokensOfUnseenPage);
});

Deno.test("a PDF that claims absurdly many pages is capped", () => {
  assertEquals(base64PdfTokens(base64("/Count 99999")), 1000 * tokensOfUnseenPage);
});
