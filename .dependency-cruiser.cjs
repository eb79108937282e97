// The layers of src/ and packages/: every import goes down, never up or round. Types count as imports too.
//
//   src/apps/      one folder for each process: its main and its wiring
//   src/modules/   the business; which module may import which others stands in `modules` below
//   src/platform/  Postgres, queue, chain, HTTP, settings, logs; knows no module
//   src/domain/    pure: errors, units, money, order states, prices
//   packages/      for the demo, tests, benches, merchants and browsers; src/ imports nothing of them
//
// Two processes stand apart: the signer holds the keys and loads the chain alone; the sender speaks to other people's
// hosts and loads webhooks alone.

/** What each module may import of the other modules. `console` and `operator` call all but the worker's and the sender's. */
const modules = {
  accounts: ['orders', 'billing'],
  auth: ['projects'],
  'auto-delegations': ['auth', 'orders', 'quotes', 'pool'],
  billing: [],
  costs: ['order-records'],
  deposits: ['billing'],
  diagnostics: ['verify', 'quotes', 'billing', 'pool', 'projects', 'requests', 'webhooks'],
  energy: ['orders', 'billing', 'quotes'],
  events: ['orders', 'auth', 'deposits', 'auto-delegations', 'statements'],
  explain: ['quotes'],
  notifications: ['events'],
  'order-records': [],
  orders: ['order-records', 'quotes', 'billing', 'pool'],
  people: [],
  pool: ['order-records'],
  projects: ['billing', 'deposits'],
  quotes: ['billing', 'pool'],
  reports: ['deposits', 'verify'],
  requests: [],
  savings: [],
  simulation: ['quotes', 'billing'],
  statements: [],
  'test-projects': ['order-records', 'billing'],
  verify: ['pool'],
  webhooks: ['auth', 'events', 'orders'],
};
const features = `^src/modules/(${Object.keys(modules).join('|')})/`;
const worker = '^src/modules/(fulfilment|reconciliation)/';

/** The layers of src/platform/ from the lowest. Each imports itself and those before it. */
const platform = ['support', 'config', 'observability', '(database|queue|chain|http)', 'blocks'];

const platformRules = platform.map((layer, index) => ({
  name: `platform-${layer}`,
  comment: `${layer} imports only itself, domain${platform
    .slice(0, index)
    .map((below) => `, ${below}`)
    .join('')}.`,
  severity: 'error',
  from: { path: `^src/platform/${layer}/` },
  to: { path: '^src/', pathNot: `^src/(domain|platform/(${platform.slice(0, index + 1).join('|')}))/` },
}));

const moduleRules = Object.entries(modules).map(([name, below]) => ({
  name: `module-${name}`,
  comment: `${name} may import only ${below.join(', ') || 'no other module'} beside platform and domain.`,
  severity: 'error',
  from: { path: `^src/modules/${name}/` },
  to: { path: '^src/', pathNot: ['^src/(domain|platform)/', `^src/modules/(${[name, ...below].join('|')})/`] },
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
      from: { path: '^(src|packages|test)/' },
      // The bench's programs load the build.
      to: { couldNotResolve: true, pathNot: '/dist/' },
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
      to: { path: '^test/' },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { path: '^src/', pathNot: '^src/domain/' },
    },
    ...platformRules,
    ...moduleRules,
    {
      name: 'worker-below-only',
      severity: 'error',
      from: { path: worker },
      to: { path: '^src/', pathNot: ['^src/(domain|platform)/', features, worker] },
    },
    {
      name: 'processes-stay-apart',
      severity: 'error',
      from: { path: '^src/apps/([^/]+)/' },
      to: { path: '^src/apps/', pathNot: '^src/apps/$1/' },
    },
    {
      name: 'processes-are-on-top',
      severity: 'error',
      from: { path: '^src/(modules|platform)/' },
      to: { path: '^src/apps/' },
    },
    {
      name: 'migrations-import-nothing',
      comment: 'What an old migration imports changes under it: databases of different ages would differ.',
      severity: 'error',
      from: { path: '^src/platform/database/migrations/' },
      // It reads the SQL file that lies beside the migration.
      to: { path: '^src/', pathNot: '^src/platform/database/sql-files\\.ts$' },
    },
    {
      name: 'api-never-fulfils',
      comment: 'No processor, no signing key and no broadcast is reachable from the API root.',
      severity: 'error',
      from: { path: '^src/apps/api/' },
      to: { path: worker, reachable: true },
    },
    {
      name: 'only-the-worker-fulfils',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/apps/worker/', worker] },
      to: { path: worker },
    },
    {
      name: 'console-never-fulfils',
      comment: 'No session reaches what signs, sends, or opens the signed API.',
      severity: 'error',
      from: { path: '^src/apps/console/' },
      to: { path: '^src/modules/(fulfilment|reconciliation|sender|signer)/', reachable: true },
    },
    {
      name: 'only-the-console-serves-pages',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(apps|modules)/console/' },
      to: { path: '^src/modules/console/' },
    },
    {
      name: 'sender-knows-webhooks-alone',
      comment: 'The process that speaks to other people’s hosts loads nothing that orders, signs or reads the chain.',
      severity: 'error',
      from: { path: '^src/(apps|modules)/sender/' },
      to: {
        path: '^src/(modules/(?!sender/|webhooks/)|platform/(chain|queue|http)/)',
        reachable: true,
      },
    },
    {
      name: 'only-the-sender-sends',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(apps|modules)/sender/' },
      to: { path: '^src/modules/sender/' },
    },
    {
      name: 'tronweb-stays-in-chain',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/platform/chain/' },
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
      to: {
        path: '^(src|packages)/',
        pathNot: ['^src/(domain|platform/support|platform/chain)/', '^packages/(local|sdk)/'],
      },
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
        pathNot: ['^src/domain/', '^src/modules/console/[a-z-]+-shapes\\.ts$', '^packages/console/'],
      },
    },
    {
      name: 'of-shapes-types-alone',
      severity: 'error',
      from: { path: '^packages/console/src/' },
      to: { path: '^src/modules/console/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'signer-knows-the-chain-alone',
      comment: 'What a taken-over service could make it load is what it could make it do.',
      severity: 'error',
      from: { path: '^src/modules/signer/' },
      to: { path: '^src/', pathNot: '^src/(domain|platform/support|platform/chain|modules/signer)/' },
    },
    {
      name: 'signer-is-spoken-to-over-its-socket',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(apps|modules)/signer/' },
      to: { path: '^src/modules/signer/' },
    },
    {
      name: 'one-main-per-process',
      severity: 'error',
      from: { path: '^(src|packages)/' },
      to: { path: '/main\\.[a-z]+\\.ts$' },
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
