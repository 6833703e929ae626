/**
 * Every bound of the gateway, with its reason. Nothing loops, queues, retries or buffers without one of these.
 */
export const limits = {
  /** Spec section 8: 20 MB request bodies; measured on bytes read, so chunked bodies count too. */
  requestBodyBytes: 20 * 1024 * 1024,
  /** Deeper JSON than any SDK builds; parsing recursion further down stays far from the stack limit. */
  jsonDepth: 128,
  /** Longest model name we look at: names come from strangers and end up in maps and headers. */
  modelNameChars: 256,
  /** Messages or items of one request; the largest vendor limit. */
  messages: 100_000,
  /** Answers of one Chat call (`n`): each is reserved in full. */
  choices: 16,
  /** Bodies up to this size reserve one input token per byte; longer ones are searched for base64 parts. */
  exactBoundBodyBytes: 16 * 1024,
  /** A call may ask for this many output tokens at most, whatever the model: keeps quotes far from overflow. */
  maxTokens: 10_000_000,
  /** One token count reported by a provider above this is absurd: the largest context is 1–2 million. */
  usageTokens: 100_000_000,
  /** Spec section 8: time-out per call. */
  callMs: 15 * 60_000,
  /** A connection that is not up in this time will not come up: TCP + TLS over a bad line takes under 3 s. */
  connectMs: 5_000,
  /** Streaming: a route without output after this long is slow, and the call moves on (design section 5). */
  firstOutputMs: 30_000,
  /** Longest silence between two reads of an upstream stream. Providers ping every 10–30 s. */
  upstreamIdleMs: 120_000,
  /** Bytes of an upstream response head. Common servers stop at 8–16 KiB. */
  upstreamHeadBytes: 32 * 1024,
  /** Connections to one provider kept at rest. As many as calls usually run at once; the surplus is closed. */
  upstreamIdleConnections: 256,
  /** How long a connection may rest: most load balancers close at 60 s, and we should be first. */
  upstreamIdleConnectionMs: 50_000,
  /** Read buffer of a connection: holds several events, and a thousand streams cost 8 MB. */
  upstreamReadBytes: 8 * 1024,
  /** Read buffer while a large body comes in: beyond this larger reads save nothing. */
  upstreamReadMaxBytes: 64 * 1024,
  /** Request bytes copied behind the head to make one write; more is written from where it lies. */
  upstreamSingleWriteBytes: 64 * 1024,
  /** Extension bytes of one chunk of an upstream body; real ones have none. */
  upstreamChunkExtensionBytes: 1024,
  /** Trailer bytes of an upstream body. */
  upstreamTrailerBytes: 8 * 1024,
  /** 1xx heads before the real one. */
  upstreamInterimResponses: 8,
  /** Text of a provider error that is passed on: a sentence or two; some put whole prompts or stack traces there. */
  errorMessageChars: 500,
  /** A whole (not streamed) chat answer; 128k tokens of text are under 1 MB, base64 parts need more. */
  answerBytes: 32 * 1024 * 1024,
  /** One SSE event: a whole tool argument or an encrypted reasoning item may come in one. */
  sseEventBytes: 8 * 1024 * 1024,
  /** Streamed preamble held back until the first real output. */
  preambleBytes: 1024 * 1024,
  /** Silence after which the client gets a keep-alive: under the 30–60 s that proxies allow. */
  keepAliveMs: 15_000,
  /** Active keys per account (spec section 2). */
  activeKeysPerAccount: 10,
  /** Keys of an account that lists show, revoked ones included. */
  keysPerAccountListed: 1_000,
  /** Callers remembered per instance: about 1 KB each. */
  authCacheEntries: 50_000,
  /** The control state is read this often … */
  controlPollMs: 500,
  /** … and trusted this long: a revocation holds everywhere within two seconds (design section 4). */
  controlStaleMs: 2_000,
  /** Outbox rows one worker claims in one go: enough to keep its lanes busy, few enough that no claim grows old. */
  outboxClaims: 32,
  /** Tries of a check-and-set on one account's row: only that person's own clicks compete for it. */
  accountWriteAttempts: 8,
  /** Rows one run of a queue handles at most, so that a cron run ends even if rows come faster than they go. */
  outboxRunRows: 10_000,
  /** Longest sleep of an outbox worker: rows written by other processes are seen after this. One list is 50 µs. */
  outboxIdleMs: 1_000,
  /** A bank notice is under 4 KiB; the rest is room for long statement texts. */
  bankNoticeBytes: 64 * 1024,
  /** SePay's rule for the age of a signed notice, either way. Later replays come by the dashboard or the poll. */
  bankNoticeSkewMs: 5 * 60_000,
  /** Signed-in browsers of one account: a person has a handful; the oldest is signed out beyond this. */
  sessionsPerAccount: 20,
  /** Session rows read for a list: expired rows may linger among the living ones. */
  sessionsListed: 200,
  /** Tries of a check-and-set on a rate counter; losing them all means a flood, which is refused. */
  rateLimitWriteAttempts: 5,
  /** Password hashes at the same time: each takes 64 MiB and a thread for a third of a second. */
  passwordHashesAtOnce: 2,
  /** Sign-ins that may wait for a hash; at two a third of a second each the last one waits about 10 s. */
  passwordHashQueue: 64,
} as const;
