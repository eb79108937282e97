// The layers of src/ and packages/: every import goes down, never up or round. Types count as imports too.
//
//   main.*.ts                                       know everything
//   api.module  worker.module  console.module  operator/  console/   commands, routes of the consoles, and wiring
//   fulfilment/  reconciliation/                    the worker's alone
//   diagnostics/                                    → pool, quotes, billing, projects, requests, webhooks, signer's settings
//   auth → projects   projects → billing, deposits   deposits → billing, blocks   costs → blocks   auto-delegations → auth, blocks, orders, quotes, pool   reports → deposits, verify   blocks   billing   pool   verify → pool
//   quotes → billing, pool   simulation → quotes, billing   orders → quotes, billing, pool   explain → quotes   accounts, energy → orders, billing, quotes   events → orders, auth, deposits, auto-delegations, statements   webhooks → auth, events   requests   statements   people
//   test-projects → billing (played by the worker)
//   platform.module                                 makes what follows, once for a process
//   http/ {pipeline, body, openapi}   store/   queue/   chain/
//   observability/                                  logger, metrics, admin port, shutdown
//   config/                                         every setting
//   base/                                           clock, secrets, repeating, concurrency, batches
//   domain/                                         pure: errors, units, money, order states, prices
//   apart: signer/ (holds the keys in a process of its own; knows chain/, base/ and domain/)
//   packages/ (for the demo, tests and benches; src/ imports nothing of them)
//          devnet/ (spoken to over HTTP)   local/ (embedded servers; knows chain/, base/, domain/ and sdk/)
//          sdk/ (for merchants: knows nothing else)   console/ (pages; knows domain/ and the shapes of src/console as types)
const layers = ['domain', 'base', 'config', 'observability', '(store|queue|chain|http)'];
const pure = '^src/(domain|base)/';
const outside = '^src/(config|observability|store|queue|chain|http)/|^src/platform\\.module\\.ts$';
const features =
  '^src/(auth|auto-delegations|projects|billing|pool|verify|quotes|simulation|explain|orders|accounts|energy|events|webhooks|requests|deposits|blocks|costs|statements|reports|notifications|people|test-projects)/';

/** Of the lower layers each imports itself and those before it. */
const layerRules = layers.map((layer, index) => ({
  name: `layer-${layer}`,
  comment: `${layer} imports only itself and ${layers.slice(0, index).join(', ') || 'nothing'}.`,
  severity: 'error',
  from: { path: `^src/${layer}/` },
  to: { path: '^src/', pathNot: `^src/(${layers.slice(0, index + 1).join('|')})/` },
}));

/** A feature imports itself, the layers below, and the features named here. */
const arrows = {
  auth: ['projects'],
  'auto-delegations': ['auth', 'blocks', 'orders', 'quotes', 'pool'],
  projects: ['billing', 'deposits'],
  billing: [],
  blocks: [],
  costs: ['blocks'],
  deposits: ['billing', 'blocks'],
  reports: ['deposits', 'verify'],
  pool: [],
  verify: ['pool'],
  quotes: ['billing', 'pool'],
  simulation: ['quotes', 'billing'],
  orders: ['quotes', 'billing', 'pool'],
  explain: ['quotes'],
  accounts: ['orders', 'billing', 'quotes'],
  events: ['orders', 'auth', 'deposits', 'auto-delegations', 'statements'],
  energy: ['orders', 'billing', 'quotes'],
  webhooks: ['auth', 'events', 'orders'],
  requests: [],
  statements: [],
  notifications: ['events'],
  people: [],
  'test-projects': ['billing'],
  diagnostics: ['verify', 'quotes', 'billing', 'pool', 'projects', 'requests', 'webhooks'],
};

const arrowRules = Object.entries(arrows).map(([feature, below]) => ({
  name: `feature-${feature}`,
  comment: `${feature} may import only ${below.join(', ') || 'no other feature'} beside the layers below.`,
  severity: 'error',
  from: { path: `^src/${feature}/` },
  to: { path: '^src/', pathNot: [pure, outside, `^src/(${[feature, ...below].join('|')})/`] },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycle',
      comment: 'Decorated classes in an import cycle are undefined at load; types that need each other share a file.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: { path: '^(src|packages|test|bench)/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dev-dependency-in-src',
      comment: 'src runs after npm ci --omit=dev --workspaces=false; a package declares what it needs itself.',
      severity: 'error',
      from: { path: '^(src|packages/[^/]+/src)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'src-never-imports-test',
      severity: 'error',
      from: { path: '^(src|packages)/' },
      to: { path: '^(test|bench)/' },
    },
    ...layerRules,
    ...arrowRules,
    {
      name: 'worker-below-only',
      severity: 'error',
      from: { path: '^src/(fulfilment|reconciliation)/' },
      to: { path: '^src/', pathNot: [pure, outside, features, '^src/(fulfilment|reconciliation)/'] },
    },
    {
      name: 'roots-stay-apart',
      comment: 'Nobody imports a main or the wiring of a process.',
      severity: 'error',
      from: { path: '^src/((api|worker|console)\\.module\\.ts$|operator/|console/)' },
      to: { path: '^src/(main\\.|(api|worker|console)\\.module\\.ts$)' },
    },
    {
      name: 'migrations-import-nothing',
      comment: 'What an old migration imports changes under it: databases of different ages would differ.',
      severity: 'error',
      from: { path: '^src/store/migrations/' },
      // It reads the SQL file that lies beside the migration.
      to: { path: '^src/', pathNot: '^src/store/sql-files\\.ts$' },
    },
    {
      name: 'api-never-fulfils',
      comment: 'No processor, no signing key and no broadcast is reachable from the API root.',
      severity: 'error',
      from: { path: '^src/main\\.api\\.ts$' },
      to: { path: '^src/(fulfilment|reconciliation)/', reachable: true },
    },
    {
      name: 'only-the-worker-fulfils',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: '^src/(fulfilment/|reconciliation/|(worker|block-following)\\.module\\.ts$|main\\.)',
      },
      to: { path: '^src/(fulfilment|reconciliation)/' },
    },
    {
      name: 'console-never-fulfils',
      comment: 'No session reaches what signs, sends, or opens the signed API.',
      severity: 'error',
      from: { path: '^src/main\\.console\\.ts$' },
      to: { path: '^src/(fulfilment|reconciliation|sender|signer)/', reachable: true },
    },
    {
      name: 'only-the-console-serves-pages',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(console/|console\\.module\\.ts$|main\\.)' },
      to: { path: '^src/console/' },
    },
    {
      name: 'sender-knows-webhooks-alone',
      comment: 'The process that speaks to other people’s hosts loads nothing that orders, signs or reads the chain.',
      severity: 'error',
      from: { path: '^src/(sender/|sender\\.module\\.ts$|main\\.sender\\.ts$)' },
      to: {
        path: '^src/(auth|projects|billing|pool|verify|quotes|simulation|orders|accounts|energy|events|fulfilment|reconciliation|chain|queue|http)/',
        reachable: true,
      },
    },
    {
      name: 'only-the-sender-sends',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(sender/|sender\\.module\\.ts$|main\\.)' },
      to: { path: '^src/sender/' },
    },
    {
      name: 'tronweb-stays-in-chain',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/chain/' },
      to: { path: 'node_modules/tronweb/' },
    },
    {
      name: 'src-never-imports-packages',
      comment: 'Production has neither the packages nor what they depend on.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^packages/' },
    },
    {
      name: 'devnet-is-spoken-to-over-http',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/devnet/' },
      to: { path: '^packages/devnet/' },
    },
    {
      name: 'devnet-shares-no-code-with-the-service',
      comment: 'A chain that shared our code would share our mistakes.',
      severity: 'error',
      from: { path: '^packages/devnet/' },
      to: { path: '^(src|packages)/', pathNot: '^packages/devnet/' },
    },
    {
      name: 'local-stands-alone',
      comment:
        'The supervisor of processes must not load the processes it starts; the chain it speaks to as anybody may.',
      severity: 'error',
      from: { path: '^packages/local/' },
      to: { path: '^(src|packages)/', pathNot: [pure, '^src/chain/', '^packages/(local|sdk)/'] },
    },
    {
      name: 'sdk-stands-alone',
      comment: 'What a merchant installs is the package alone, without dependencies.',
      severity: 'error',
      from: { path: '^packages/sdk/src/' },
      to: { pathNot: '^packages/sdk/src/', dependencyTypesNot: ['core'] },
    },
    {
      name: 'pages-know-shapes-alone',
      comment: 'What a browser loads: pure code, and of the process the types of what it answers.',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: {
        path: '^(src|packages)/',
        pathNot: ['^src/domain/', '^src/console/[a-z-]+-shapes\\.ts$', '^packages/console/'],
      },
    },
    {
      name: 'of-shapes-types-alone',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: { path: '^src/console/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'signer-knows-the-chain-alone',
      comment: 'What a taken-over service could make it load is what it could make it do.',
      severity: 'error',
      from: { path: '^src/signer/' },
      to: { path: '^src/', pathNot: [pure, '^src/chain/', '^src/signer/'] },
    },
    {
      name: 'signer-is-spoken-to-over-its-socket',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(signer/|main\\.signer\\.ts$)' },
      to: { path: '^src/signer/' },
    },
    {
      name: 'one-main-per-process',
      severity: 'error',
      from: { path: '^(src|packages)/' },
      to: { path: '^(src|packages/[^/]+/src)/main\\.' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^dist/', '^packages/[a-z]+/dist/', '^test/tron-node/', '^test/vectors/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    moduleSystems: ['es6', 'cjs'],
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      mainFields: ['module', 'main', 'types'],
    },
  },
};
