/**
 * Every bound of the gateway, with its reason. Nothing loops, queues, retries or buffers without one of these.
 */
export const limits = {
  /** Request bodies: 20 MB, measured on bytes read, so chunked bodies count too. */
  requestBodyBytes: 20 * 1024 * 1024,
  /**
   * The server reads a connection 1 KB at a time until somebody reads more of a body at once, and then as much as that.
   * A body that came with its head needs no stream, which is most of what reading costs, so the first body of a
   * connection is read like that if it is no longer than this: longer ones come in several packets anyway.
   */
  widelyReadBodyBytes: 14 * 1024,
  /** Room for a head of usual size beside the body. Doubled until both fit, it stays with the connection: 16 KB at most. */
  wideReadHeadBytes: 2 * 1024,
  /** Connections of which it is remembered that they brought a request; a port each. */
  seenConnections: 4_096,
  /** How long a browser may remember that a page of another origin may ask: as long as any browser does. */
  preflightSeconds: 86_400,
  /** A large answer leaves in pieces of this size: what a socket takes at once. */
  bufferedBodyPieceBytes: 64 * 1024,
  /** A client that takes no piece for this long has its connection closed: 4 kbit/s are enough. */
  unreadAnswerMs: 120_000,
  /** A body must be whole in this time: the largest at 0.7 Mbit/s. The server itself has no such limit. */
  requestBodyMs: 240_000,
  /** Of a refused body this much more is read and thrown away, so that the client gets to read the answer. */
  discardedBodyBytes: 64 * 1024 * 1024,
  /** And for this long at most: a refused client that keeps sending is cut off. */
  discardMs: 30_000,
  /** Longest model name we look at: names come from strangers and end up in maps and headers. */
  modelNameChars: 256,
  /** A wrong path as the 404 repeats it: longer than any that a library asks for; the rest is the caller's own. */
  toldPathChars: 64,
  /** Longest time of one call, streams included. */
  callMs: 15 * 60_000,
  /** Longest answer that the sandbox can be asked for: the largest output of any model we list. */
  sandboxAnswerTokens: 128_000,
  /** Values in an example that the sandbox makes from a schema: a recursive schema has no end of its own. */
  sandboxSchemaNodes: 10_000,
  /** The public status is read from the store this often at most, whoever asks. */
  statusCacheMs: 10_000,
  /** Counts of availability are written this often. */
  availabilityEveryMs: 60_000,
  /** The provider's token counter; past this an estimate is the better answer. */
  countTokensMs: 10_000,
  /** Series of one metric: models × outcomes × statuses of the largest catalogue stay far below. */
  metricSeries: 10_000,
  /** How often notices without an end state are looked at again: after a crash, or a store that was away. */
  bankSweepEveryMs: 60_000,
  /** Received, credited and waiting money are compared this often; the operator's overview does so on each visit. */
  topupCheckEveryMs: 6 * 3_600_000,
  /** The second source of bank movements is read this often … */
  bankPollEveryMs: 10 * 60_000,
  /** … this far back: a webhook that was lost over a weekend is still found. */
  bankPollWindowMs: 3 * 24 * 3_600_000,
  /** How often balances are compared with the marks of their owners. */
  lowBalanceEveryMs: 60_000,
  /** How often the log learns whether the ledger takes writes. */
  ledgerWatchEveryMs: 1_000,
  /** Pause before a server that could not accept listens again: calls that end make room meanwhile. */
  listenAgainMs: 500,
  /** How often instances that died are looked for. */
  reapEveryMs: 15_000,
  /** Log lines are written together after this long … */
  logFlushMs: 50,
  /** … or when this much waits. */
  logBufferChars: 64 * 1024,
  /** Characters of lines that wait for whoever reads them: some two thousand calls. Further ones are dropped. */
  logBacklogChars: 1024 * 1024,
  /** How long the end of the process waits for the last lines to be taken. */
  logLastFlushMs: 1_000,
  /** How long the end of the process waits for what was told to end: the cron, the last answers. */
  lastEndsMs: 1_000,
  /** Signals this close to the first are the same request to stop; whoever presses Ctrl-C again has waited longer. */
  sameSignalMs: 1_000,
  /** After the drain deadline stopped calls get this long to send their last event and settle. */
  stopMs: 3_000,
  /** A bank notice is under 4 KiB; the rest is room for long statement texts. */
  bankNoticeBytes: 64 * 1024,
  /** Password hashes at the same time: each takes 64 MiB and a thread for a third of a second. */
  passwordHashesAtOnce: 2,
  /** Sign-ins that may wait for a hash; at two a third of a second each the last one waits about 10 s. */
  passwordHashQueue: 64,
  /** A body sent to the operators' interface: a reason and a message. */
  operatorBodyBytes: 16 * 1024,
  /** Open orders searched for near misses of a broken memo. */
  nearMissOrders: 2_000,
  /** A form of the dashboard; the longest is a key with every model ticked. */
  pageFormBytes: 256 * 1024,
  /** A form of the operator: the PDF of an invoice or a month of bank statement. */
  operatorFormBytes: 8 * 1024 * 1024,
  /** One request to an OpenID provider; a person is waiting. */
  openIdMs: 10_000,
  /** Pages of 100 movements read in one poll: three days of a very busy account. */
  bankPollPages: 50,
  /** One question to a provider about a video task. */
  videoPollMs: 25_000,
  /** Days of usage read at once: a year would be a thousand rows per key and model. */
  usageDays: 92,
  /** Receipts of one page of the usage API: about 200 KB of JSON. */
  receiptListRows: 200,
  /** Receipts looked at for one page when a filter fits few of them: about a quarter of a second of reading. */
  receiptScanRows: 5_000,
  /** Receipts on one page of the dashboard. */
  receiptsPerPage: 50,
  /** An order of a video is known again for a day: what clients and vendors agree on. */
  idempotencyKeptMs: 24 * 3_600_000,
  /** One that is under way may be begun anew after this: its call cannot run any more. */
  idempotencyClaimMs: 16 * 60_000,
  /** Redirects followed from a provider to the store that holds a finished video. */
  videoContentRedirects: 3,
  /** Accounts that `admin account list` shows: more than a terminal can be read for. */
  adminAccountsListed: 1_000,
  /** Dead letters that `admin outbox list` shows of each queue; what was revived or forgotten makes room for the rest. */
  deadLettersListed: 1_000,
  /** Name of a key made by the command line: a line of a list. */
  adminKeyNameChars: 100,
  /** Reason of a correction of a wallet: enough to say why … */
  adminReasonCharsMin: 3,
  /** … in a few sentences, which stand in the statement. */
  adminReasonChars: 500,
  /** Operation ids given by hand: too short a one would be used again by accident … */
  adminOperationIdCharsMin: 8,
  /** … and nobody types a longer one. */
  adminOperationIdChars: 100,
  /** How long the overview's figures are kept. */
  operatorFiguresMs: 60_000,
  /** One page of a provider's list: a hundred movements of under 10 KB each. */
  bankPageBytes: 1024 * 1024,
} as const;
