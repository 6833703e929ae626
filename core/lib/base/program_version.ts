/**
 * The version of this program, by [Semantic Versioning](https://semver.org). With `-dev` it has what the changelog lists
 * as unreleased.
 */
export const programVersion = "0.3.0-dev";
