/** Reads `GATEWAY_BACKUP_KEY`: 32 bytes in base64url, as a master key. */
import { decodeBase64Url } from "../lib/runtime/mod.ts";

const keyBytes = 32;

/** Decodes the key; `undefined` if it is not one. */
export function backupKeyBytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  const bytes = decodeBase64Url(text);
  return bytes?.length === keyBytes ? bytes : undefined;
}

/** Says what is wrong with the key, without quoting it. */
export function backupKeyProblem(text: string): string | undefined {
  return backupKeyBytes(text) === undefined ? `must be ${keyBytes} bytes in base64url` : undefined;
}
