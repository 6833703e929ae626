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
  /** Active keys per account. */
  activeKeysPerAccount: 10,
  /** Keys of an account that lists show, revoked ones included. Those in use are shown in any case. */
  keysPerAccountListed: 1_000,
  /** Callers remembered per instance: about 1 KB each. */
  authCacheEntries: 50_000,
  /** Keys with limits of their own whose spending is remembered per instance. */
  limitedKeysKept: 10_000,
  /** What a key with a limit has spent is read again after this long: others may spend with it too. */
  keySpendingStaleMs: 5_000,
  /** The control state is read this often … */
  controlPollMs: 500,
  /** … and trusted this long: a revocation holds everywhere within two seconds. */
  controlStaleMs: 2_000,
  /** Outbox rows one worker claims in one go: enough to keep its lanes busy, few enough that no claim grows old. */
  outboxClaims: 32,
  /** Tries of a check-and-set on one account's row: only that person's own clicks compete for it. */
  accountWriteAttempts: 8,
  /** … and on its list of keys: two keys made in the same moment collide; more tries than keys means that something is wrong. */
  apiKeyWriteAttempts: 12,
  /** What a switch is turned for, and what clients are told meanwhile: a sentence or two in every refusal. */
  switchReasonChars: 500,
  /** … and on the operator's switches: only operators compete. */
  switchesWriteAttempts: 10,
  /**
   * A new secret is shown again this long when its page is reloaded; later only for the password. Time enough to copy it,
   * and short for a browser that somebody has walked away from.
   */
  madeSecretShownMs: 10 * 60_000,
  /** Rows one run of a queue handles at most, so that a cron run ends even if rows come faster than they go. */
  outboxRunRows: 10_000,
  /** Longest sleep of an outbox worker: rows written by other processes are seen after this. One list is 50 µs. */
  outboxIdleMs: 1_000,
  /** A bank notice is under 4 KiB; the rest is room for long statement texts. */
  bankNoticeBytes: 64 * 1024,
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
  /** A body sent to the operators' interface: a reason and a message. */
  operatorBodyBytes: 16 * 1024,
  /** How long the page of an order shows its QR. The code itself can be paid without limit of time. */
  topupOrderMs: 60 * 60_000,
  /** Orders of one account that are neither paid nor expired: enough for retries, too few to flood the list. */
  openTopupsPerAccount: 10,
  /** Fresh codes tried until one is free; with 3·10^9 codes even two are hardly ever needed. */
  orderCodeAttempts: 5,
  /** Text of a notice that is kept for staff: at two bytes a character within the 64 KiB of a row. */
  bankNoticeKeptChars: 30_000,
  /** Unreadable notices that staff see; a bank whose form has changed is noticed long before. */
  unreadableNoticesListed: 1_000,
  /** Compare-and-set rounds of one bank notice or order. In a process they queue, so only other processes collide. */
  topupWriteAttempts: 20,
  /** Codes of one memo that are looked up: two are an accident, more are an attack. */
  codesPerMemo: 5,
  /** Text of a memo by which movements are compared: banks cut theirs at 210 characters or sooner. */
  comparedMemoChars: 200,
  /** Movements of one amount within three days that a newcomer is compared with: far above any real number. */
  comparedMovements: 50_000,
  /** Open orders searched for near misses of a broken memo. */
  nearMissOrders: 2_000,
  /** Orders on one invoice: two checks each, and an atomic may have ten. */
  ordersPerInvoice: 5,
  /** PDF and XML of an invoice, and their corrections. */
  invoiceFiles: 6,
  /** One part of such a file: a value holds 64 KiB; the rest is room for the store's own framing. */
  invoiceFilePartBytes: 60_000,
  /** A signed invoice is under 500 KB. */
  invoiceFileBytes: 2 * 1024 * 1024,
  /** A claim on a mail: far above the time that a mail server takes at its worst. */
  mailClaimMs: 2 * 60_000,
  /** Tries of one mail, with the pauses below over nearly seven hours; a server that is down longer needs a person. */
  mailAttempts: 8,
  mailPausesMs: [
    5_000,
    30_000,
    2 * 60_000,
    10 * 60_000,
    30 * 60_000,
    2 * 3_600_000,
    4 * 3_600_000,
  ],
  /** How long the link of a sign-up works: mail may wait a night … */
  signUpMailMs: 24 * 3_600_000,
  /** … that of a forgotten password or a sign-in: it opens an account that has money, and its owner waits for it … */
  resetMailMs: 30 * 60_000,
  /** … and that of a new address. */
  changeEmailMailMs: 24 * 3_600_000,
  /** A person needs a minute or two at an OpenID provider; ten leave room for a forgotten password there. */
  signInFlowMs: 10 * 60_000,
  /** Our tokens have 43 characters; longer texts are not looked up. */
  secretTokenChars: 64,
  /** A form of the dashboard; the longest is a key with every model ticked. */
  pageFormBytes: 256 * 1024,
  /** A form of the operator: the PDF of an invoice or a month of bank statement. */
  operatorFormBytes: 8 * 1024 * 1024,
  /** One request to an OpenID provider; a person is waiting. */
  openIdMs: 10_000,
  /** Notices matched in one sweep; more wait for the next, a minute later. */
  bankSweepRows: 500,
  /** Pages of 100 movements read in one poll: three days of a very busy account. */
  bankPollPages: 50,
  /** A notice without an end state after this is a fault that the operator must see. */
  bankMatchLateMs: 5 * 60_000,
  /** A claim on a poll of a video task: twice the time that the poll itself may take, so no two run at once. */
  videoPollClaimMs: 60_000,
  /**
   * Tries of one poll, practically without end: a provider that does not answer is asked until the task's deadline, and
   * a failing store until it works again, since money hangs on it.
   */
  videoPollAttempts: 1_000_000,
  /** Pauses after polls that failed. */
  videoPollPausesMs: [2_000, 5_000, 15_000, 30_000, 60_000],
  /**
   * Pauses after a provider did not know a task, for the first time in a row, the second, the third: new tasks take a
   * moment to be everywhere. One that is unknown once more is lost.
   */
  unknownVideoPausesMs: [2_000, 5_000, 15_000],
  /** One question to a provider about a video task. */
  videoPollMs: 25_000,
  /** Polls of video tasks at the same time in one process. */
  videoPollLanes: 16,
  /** Video tasks of one page of a list: what the video API allows. */
  videoListRows: 100,
  /** Open video tasks that one sweep looks at; the polls themselves do the work, the sweep only finds lost ones. */
  videoSweepRows: 10_000,
  /** How long past its deadline an open task must be before the sweep thinks that its poll was lost. */
  videoSweepGraceMs: 10 * 60_000,
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
  /** Text of a line of the operators' log: what was acted on … */
  auditSubjectChars: 200,
  /** … and why: a few sentences. */
  auditDetailChars: 2_000,
  /** An operator shows a code once per working day and browser. */
  secondFactorMs: 12 * 3_600_000,
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
  /** Rows of one kind added up for the operator's overview: a second or two of reading. */
  operatorScanRows: 200_000,
  /** Bank notices read one by one for the overview. */
  operatorScanEvents: 5_000,
  /** How long the overview's figures are kept. */
  operatorFiguresMs: 60_000,
  /** One page of a provider's list: a hundred movements of under 10 KB each. */
  bankPageBytes: 1024 * 1024,
} as const;
