import { type AuthorizerTools, CredentialFailure } from "./authorizer.ts";

/** Characters of a token in a file; those of platforms have up to 4,000. */
const maxTokenChars = 64 * 1024;

/**
 * Reads the token that a platform keeps in a file and replaces before it ends.
 *
 * @throws {CredentialFailure} if there is none, which may pass: the file may be about to be written
 */
export async function readTokenFile(
  { readTextFile }: Pick<AuthorizerTools, "readTextFile">,
  path: string,
): Promise<string> {
  let text: string;
  try {
    if (readTextFile === undefined) throw new Error("no files");
    text = (await readTextFile(path)).trim();
  } catch (cause) {
    throw new CredentialFailure("token_file_not_readable", false, { cause });
  }
  // A token goes into a header or a form.
  if (text.length > maxTokenChars || !/^[\x21-\x7e]+$/.test(text)) {
    throw new CredentialFailure("token_file_without_token", false);
  }
  return text;
}
