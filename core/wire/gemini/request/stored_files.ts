/**
 * Whether a file URI refers to storage of the vendor, which is that of the operator's account: a customer who knows a
 * name could read another's file.
 */
export function isStoredFile(uri: string): boolean {
  return !/^https?:/i.test(uri) || /^https?:\/\/[\w.-]*\.googleapis\.com(?:[:/]|$)/i.test(uri);
}
