/** The head of the catalogue: which version is in force, and from when on another one. */

/** A version, as the head names it. */
export interface HeadVersion {
  readonly version: number;
  readonly digest: string;
}

/** Version that is in force. */
export interface CatalogHead extends HeadVersion {
  /** The highest number that a version has. */
  readonly newest: number;
  /** The version that is in force from a moment on, in place of the other. */
  readonly scheduled?: HeadVersion & { readonly effectiveFromMs: number };
  /**
   * Digest of the `gateway.json` that was taken over, or declined, last. As long as it is the digest of the version in
   * force, the file is the source of the catalogue; otherwise the store is.
   */
  readonly fileDigest: string;
}

/** The version in force at a moment. */
export function inForce(head: CatalogHead, nowMs: number): HeadVersion {
  const { scheduled } = head;
  return scheduled !== undefined && nowMs >= scheduled.effectiveFromMs ? scheduled : head;
}
