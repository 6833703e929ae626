/** Reads `s3://BUCKET/PREFIX`, with what the environment says about servers and keys. */
import type { BucketVariables } from "../../../../core/config/bucket_variables.ts";
import { secretProblem } from "../../../../core/lib/environment/environment.ts";
import { parseUrl } from "../../../../core/lib/runtime/built_ins.ts";

/** A bucket that can be written to. */
export interface BucketAddress {
  /** Of the bucket on its server, without a slash at the end. */
  readonly url: string;
  /** Before the names of all objects: empty, or with a slash at the end. */
  readonly prefix: string;
  readonly region: string;
  readonly keys: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
}

/** The address, or what is wrong, in one line without a secret. */
export type BucketAddressResult =
  | { readonly ok: true; readonly address: BucketAddress }
  | { readonly ok: false; readonly problem: string };

const scheme = "s3://";

/** Whether a place for files is an address of a bucket. */
export function isBucketAddress(place: string): boolean {
  return place.startsWith(scheme);
}

/** The form of the names of buckets. */
const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/** Parts of a prefix: letters that need no escape in URLs, queries and names of files. */
const segmentForm = /^(?!\.\.?$)[A-Za-z0-9._=-]{1,100}$/;

/** Parts of a prefix; names of objects have at most 1,024 bytes. */
const maxSegments = 8;

function problemOfPlace(bucket: string, segments: readonly string[]): string | undefined {
  if (!bucketForm.test(bucket)) return "must begin with s3:// and the name of a bucket";
  if (segments.length > maxSegments) return `must have at most ${maxSegments} parts`;
  return segments.every((segment) => segmentForm.test(segment))
    ? undefined
    : "must have parts of letters, digits and . _ = - between single slashes";
}

/** The address of the server of a bucket, without a slash at the end; `undefined`: the text is none. */
function serverOf({ endpoint, region }: BucketVariables): string | undefined {
  if (endpoint === undefined) return `https://s3.${region}.amazonaws.com`;
  const url = parseUrl(endpoint);
  const isServer = url !== null && /^https?:$/.test(url.protocol) && url.username === "" &&
    url.password === "" && url.search === "" && url.hash === "";
  return isServer ? url.href.replace(/\/+$/, "") : undefined;
}

/** Reads the address of a place in a bucket. */
export function readBucketAddress(place: string, variables: BucketVariables): BucketAddressResult {
  const refused = (problem: string): BucketAddressResult => ({ ok: false, problem });
  const [bucket = "", ...segments] = place.slice(scheme.length).replace(/\/$/, "").split("/");
  const problem = problemOfPlace(bucket, segments);
  if (problem !== undefined) return refused(`${place} ${problem}`);
  const { accessKeyId, secretAccessKey, sessionToken, region } = variables;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    return refused("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set");
  }
  const secrets = [accessKeyId, secretAccessKey, sessionToken ?? ""];
  const wrong = secrets.map(secretProblem).find((one) => one !== undefined);
  if (wrong !== undefined) return refused(`AWS_ACCESS_KEY_ID and its secrets ${wrong}`);
  if (region === undefined || !/^[a-z0-9-]{1,40}$/.test(region)) {
    return refused("AWS_REGION must name the region of the bucket");
  }
  const server = serverOf(variables);
  if (server === undefined) {
    return refused("AWS_ENDPOINT_URL_S3 must be a URL with http or https, without user and query");
  }
  return {
    ok: true,
    address: {
      url: `${server}/${bucket}`,
      prefix: segments.map((segment) => `${segment}/`).join(""),
      region,
      keys: {
        accessKeyId,
        secretAccessKey,
        ...(sessionToken !== undefined && { sessionToken }),
      },
    },
  };
}
