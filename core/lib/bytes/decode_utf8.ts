const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder();

/**
 * Decodes UTF-8. The lenient decoder is several times faster and marks every fault; only a text with such marks is
 * decoded again strictly.
 *
 * @throws {TypeError} if the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  const text = lenientUtf8.decode(bytes);
  return text.includes("\ufffd") ? strictUtf8.decode(bytes) : text;
}
