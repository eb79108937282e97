// Words that the project avoids, their replacements, and allowances (patterns of a place and a text). docs/glossary.md
// explains the terms. run.mjs is the check.

/** The checked files and folders. */
export const PLACES = [
  'src',
  'packages',
  'test',
  'bench',
  'docs',
  'docker',
  'examples',
  'README.md',
  'CONTRIBUTING.md',
  '.env.example',
  'eslint.config.js',
  '.dependency-cruiser.cjs',
];

/** Frozen texts, recorded answers, installed packages, and this list. */
export const LEFT_OUT = [
  /(^|\/)(node_modules|dist)$/,
  /^src\/store\/(migrations|sql\/functions)$/,
  /^src\/store\/schema\.txt$/,
  /^test\/tron-node$/,
  /^test\/vectors$/,
  /^test\/words$/,
  /^test\/unit\/words\.test\.ts$/,
  /^test\/chaos\/planted-results\.json$/,
  /^docs\/glossary\.md$/,
  /\.(svg|png|woff2?|ico)$/,
];

const EVERYWHERE = /./;
/** Code of the consoles, which has its own terms. */
const CONSOLES =
  /^(src\/(console|notifications|people|domain|http|store|operator|config|main\.console)|packages\/console|test\/(console|integration\/(console|notifications|roles|merchant))|bench\/(console|rows-consoles)|docs\/(console|architecture))/;

export const WORDS = [
  { find: 'doors?', say: 'request pipeline' },
  { find: '(the|this|each|every|own|small) rooms?|rooms|houses?', say: 'module' },
  // The floor of a price or of a balance is a common term, and so is Math.floor.
  { find: '(this|that|each|every|own|upper|lower|ground|next|same) floors?|floors|grounds?', say: 'layer, conditions' },
  { find: 'desks?', say: 'CLI context' },
  {
    find: 'story|stories',
    say: 'history, or demonstration',
    // The page of one order.
    allow: [[CONSOLES, 'story|stories']],
  },
  { find: 'goodbye', say: 'drain' },
  { find: 'lets? go|letting go', say: 'delete, or release' },
  { find: 'strangers?', say: 'unrecorded transaction, outsider, or unknown caller' },
  {
    find: 'falls? away|fell away|fallen',
    say: 'reverted',
    // The published label of a metric and of its log line, and the statement that counts it.
    allow: [
      [
        /^(src\/fulfilment|docs\/(metrics\.md|operating\/))/,
        String.raw`'fallen'|mark_fallen|solid, fallen|dead \| fallen`,
      ],
    ],
  },
  { find: 'take[sn]? back|took back|taking back', say: 'reclaim, or undo' },
  { find: '(the|our) books', say: 'ledger, order records, or records' },
  { find: 'lanes?', say: 'concurrency limit, or how many at once' },
  { find: 'hints?', say: 'cache of keys' },
  {
    // Allowed as a verb: a job wakes the worker.
    find: 'wakes(?! (the worker|orders))',
    say: 'wake-up jobs',
    allow: [[EVERYWHERE, 'order_wakes_failed_total']],
  },
  {
    find: 'somebody|someone',
    say: 'the operator, another party, or the one who acts',
    // An answer of the API.
    allow: [[EVERYWHERE, 'activated by someone else( first)?']],
  },
  // "Tell a process to" and "tell apart" are allowed.
  {
    find: 'told(?! (to|otherwise|apart|from))|tell(s|ing)?(?! apart)',
    say: 'report, return, name, log or distinguish',
    // A column.
    allow: [
      [
        /^src\/(store|webhooks|sender)\/|^test\/integration\/webhooks-/,
        'failing_told_at|failingToldAt|webhook_endpoint_told',
      ],
    ],
  },
  {
    find: 'looks(?! (like|for|after))|looked at',
    say: 'read, check',
    // An operator's look at a project, as its owners see it: a term.
    allow: [[CONSOLES, 'looks|looked at']],
  },
  { find: 'asked again|asks again|ask again', say: 'retry' },
  { find: 'vitals', say: 'gauges', allow: [[EVERYWHERE, 'vitals_age_seconds']] },
  { find: 'recollection|outbound|fulfiller', say: 'the term of docs/glossary.md' },
  { find: 'visits?|visited', say: 'request context' },
  {
    find: 'a person',
    say: 'the operator',
    // A person signs in to a console: a term.
    allow: [[CONSOLES, 'a person']],
  },
  { find: 'hears?', say: 'receive, read' },
  { find: 'Contract \\d|Spec \\d|contract\\.md|spec\\.md|house\\.md|business\\.md', say: 'docs/interface.md §N' },
];
