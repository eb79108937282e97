// The floors of src/: every import goes down, never up or round. Types count as imports too.
//
//   5  main.*.ts                        know everything
//   4  api.module  worker.module  operator/
//   3  fulfilment/                      the worker's alone
//   2  auth  billing  pool  verify → pool  quotes → billing, pool  simulation → quotes, billing  orders → quotes, billing, pool  accounts → orders, billing, quotes
//   1  config  store  queue  chain  http  (platform.module provides them)
//   0  errors  fatal  clock  batched  fair-queue  crash-point  repeat  seal  secret-file  system-user  money, and the pure files of feature rooms
//   apart: signer/ (holds the keys in a process of its own; knows chain/ and floor 0)
//          devnet/ (spoken to over HTTP)
//          local/ (embedded servers, for the demo, tests and benches)
const pure =
  '^src/(errors|fatal|clock|batched|fair-queue|crash-point|repeat|seal|secret-file|system-user)\\.ts$|^src/money/|^src/quotes/(price|sizing)\\.ts$|^src/orders/order-state\\.ts$|^src/auth/(signature|strict-json)\\.ts$';
const outside = '^src/(config|settings-reader|platform\\.module)\\.ts$|^src/(store|queue|chain|http)/';
const features = '^src/(auth|billing|pool|verify|quotes|simulation|orders|accounts)/';
const apart = '^src/(devnet|local|signer)/';

/** A feature room may import itself, floors 0 and 1, and the rooms named here. */
const arrows = {
  auth: [],
  billing: [],
  pool: [],
  verify: ['pool'],
  quotes: ['billing', 'pool'],
  simulation: ['quotes', 'billing'],
  orders: ['quotes', 'billing', 'pool'],
  accounts: ['orders', 'billing', 'quotes'],
};

const arrowRules = Object.entries(arrows).map(([room, below]) => ({
  name: `floor-2-${room}`,
  comment: `${room} may import only ${below.join(', ') || 'no other feature'} beside floors 0 and 1.`,
  severity: 'error',
  from: { path: `^src/${room}/`, pathNot: pure },
  to: { path: '^src/', pathNot: [pure, outside, apart, `^src/(${[room, ...below].join('|')})/`] },
}));

/** Tables with one writer: the entity may be imported by its room, by the store and by tests, nobody else. */
const writers = [{ entity: 'credit-', room: 'billing' }];

const writerRules = writers.map(({ entity, room }) => ({
  name: `writer-${entity}entities`,
  comment: `Only ${room} writes these tables; ask it instead.`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/(${room}|store)/` },
  to: { path: `^src/store/entities/${entity}` },
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
      from: { path: '^(src|test|bench)/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dev-dependency-in-src',
      comment: 'src runs after npm ci --omit=dev.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'src-never-imports-test',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'floor-0-is-pure',
      comment: 'Floor 0 imports nothing of src but floor 0.',
      severity: 'error',
      from: { path: pure },
      to: { path: '^src/', pathNot: pure },
    },
    {
      name: 'floor-1-knows-no-feature',
      severity: 'error',
      from: { path: outside },
      to: { path: '^src/', pathNot: [pure, outside, apart] },
    },
    ...arrowRules,
    {
      name: 'floor-3-below-only',
      severity: 'error',
      from: { path: '^src/fulfilment/' },
      to: { path: '^src/', pathNot: [pure, outside, features, apart, '^src/fulfilment/'] },
    },
    {
      name: 'floor-4-below-only',
      comment: 'Nobody imports a main; the roots of floor 4 stay apart from each other.',
      severity: 'error',
      from: { path: '^src/((api|worker)\\.module\\.ts$|operator/)' },
      to: { path: '^src/(main\\.|(api|worker)\\.module\\.ts$)' },
    },
    {
      name: 'migrations-import-nothing',
      comment: 'What an old migration imports changes under it: databases of different ages would differ.',
      severity: 'error',
      from: { path: '^src/store/migrations/' },
      to: { path: '^src/' },
    },
    {
      name: 'api-never-fulfils',
      comment: 'No processor, no signing key and no broadcast is reachable from the API root.',
      severity: 'error',
      from: { path: '^src/main\\.api\\.ts$' },
      to: { path: '^src/fulfilment/', reachable: true },
    },
    {
      name: 'only-the-worker-fulfils',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(fulfilment/|worker\\.module\\.ts$|main\\.)' },
      to: { path: '^src/fulfilment/' },
    },
    {
      name: 'tronweb-stays-in-chain',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(chain|devnet)/' },
      to: { path: 'node_modules/tronweb/' },
    },
    {
      name: 'devnet-is-spoken-to-over-http',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/devnet/' },
      to: { path: '^src/devnet/' },
    },
    {
      name: 'devnet-shares-no-code-with-the-service',
      comment: 'A chain that shared our code would share our mistakes.',
      severity: 'error',
      from: { path: '^src/devnet/' },
      to: { path: '^src/', pathNot: '^src/devnet/' },
    },
    {
      name: 'local-only-for-the-demo',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(local/|main\\.demo\\.ts$)' },
      to: { path: '^src/local/' },
    },
    {
      name: 'local-stands-alone',
      comment:
        'The supervisor of processes must not load the processes it starts; the chain it speaks to as anybody may.',
      severity: 'error',
      from: { path: '^src/local/' },
      to: { path: '^src/', pathNot: [pure, '^src/chain/', '^src/local/'] },
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
      from: { path: '^src/' },
      to: { path: '^src/main\\.' },
    },
    ...writerRules,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|test/tron-node|test/vectors)/' },
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
