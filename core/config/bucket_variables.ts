/** The variables by which programs for S3 know their keys. The gateway uses them only where a command names a bucket. */
import { type Environment, withoutLineEnd } from "../lib/environment/environment.ts";

/** Settings of buckets in the environment; nothing of it is needed before a command names one. */
export interface BucketVariables {
  readonly accessKeyId: string | undefined;
  /** Never logged. */
  readonly secretAccessKey: string | undefined;
  /** Of temporary keys. Never logged. */
  readonly sessionToken: string | undefined;
  readonly region: string | undefined;
  /** Another server than that of AWS. */
  readonly endpoint: string | undefined;
}

/** Reads the variables of buckets, of which any may be missing or wrong. */
export function readBucketVariables(environment: Environment): BucketVariables {
  const first = (...names: readonly string[]) => {
    const text = names.map((name) => environment[name]).find((value) => value !== undefined);
    return text === undefined ? undefined : withoutLineEnd(text);
  };
  return {
    accessKeyId: first("AWS_ACCESS_KEY_ID"),
    secretAccessKey: first("AWS_SECRET_ACCESS_KEY"),
    sessionToken: first("AWS_SESSION_TOKEN"),
    region: first("AWS_REGION", "AWS_DEFAULT_REGION"),
    endpoint: first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
  };
}
