// Typed lint for src, packages and test. Formatting belongs to Prettier, import layers to dependency-cruiser.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const SQL_START = String.raw`/^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP|LOCK|TRUNCATE)\s/`;
// What may not be spliced into SQL: everything but a CAPITAL_CASE constant and arithmetic or a call on one.
const SPLICED =
  ':matches(Identifier:not([name=/^[A-Z][A-Z0-9_]*$/]), MemberExpression:not([object.name=/^[A-Z][A-Z0-9_]*$/]),' +
  ' CallExpression:not([callee.object.name=/^[A-Z][A-Z0-9_]*$/]), TemplateLiteral, ConditionalExpression,' +
  ' LogicalExpression, AwaitExpression)';

// One rule (`no-restricted-syntax`) carries every ban, and a later config replaces an earlier one whole.
// So the bans have names, and each group of files states its full set.
const BANS = {
  env: [
    {
      selector: "MemberExpression[object.name='process'][property.name='env']",
      message: 'Only src/platform/config/config.ts and the roots read process.env; take a Config instead.',
    },
    {
      selector: "VariableDeclarator[init.name='process'] > ObjectPattern > Property[key.name='env']",
      message: 'Only src/platform/config/config.ts and the roots read process.env; take a Config instead.',
    },
    {
      selector: "ImportDeclaration[source.value=/^(node:)?process$/] ImportSpecifier[imported.name='env']",
      message: 'Only src/platform/config/config.ts and the roots read process.env; take a Config instead.',
    },
  ],
  time: [
    {
      selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
      message: 'Ask the Clock for the time, so that a test can move it.',
    },
    {
      selector: "NewExpression[callee.name='Date'][arguments.length=0]",
      message: 'Ask the Clock for the time, so that a test can move it.',
    },
  ],
  float: [
    {
      selector: 'CallExpression[callee.name=/^(Number|parseFloat|parseInt)$/]',
      message: 'Money is bigint: use the units of src/domain, never a float.',
    },
    {
      selector: "CallExpression[callee.object.name='Number'][callee.property.name=/^(parseFloat|parseInt)$/]",
      message: 'Money is bigint: use the units of src/domain, never a float.',
    },
    {
      selector: "UnaryExpression[operator='+']",
      message: 'Money is bigint: use the units of src/domain, never a float.',
    },
  ],
  sql: [
    {
      // A constant in CAPITALS (a column list, a table name) may be spliced in; a value goes through $1.
      selector: `TemplateLiteral[quasis.0.value.raw=${SQL_START}] > ${SPLICED}`,
      message: 'Pass values to SQL as parameters ($1); only a CAPITAL_CASE constant may be spliced in.',
    },
    {
      selector: `BinaryExpression[operator='+'][left.value=${SQL_START}] > ${SPLICED}`,
      message: 'Pass values to SQL as parameters ($1); only a CAPITAL_CASE constant may be spliced in.',
    },
  ],
  flushall: [
    {
      selector: "MemberExpression[property.name='flushall']",
      message: 'Other tests share this server: empty the database of yours with flushdb.',
    },
  ],
  params: [
    {
      selector:
        ":matches(FunctionDeclaration, ArrowFunctionExpression, MethodDefinition[kind!='constructor'] > FunctionExpression)[params.length>4]",
      message: 'Five arguments in a row are mixed up: name them in an object.',
    },
  ],
  enum: [{ selector: 'TSEnumDeclaration', message: 'Use a union of strings.' }],
  // A class is its own token; what is written like a constant has no type to go by.
  inject: [
    {
      selector: "Decorator > CallExpression[callee.name='Inject'][arguments.0.name=/[a-z]/]",
      message: 'A constructor gets what its types name; @Inject is for what has no class.',
    },
  ],
};

/** @param {...keyof typeof BANS} names */
const ban = (...names) => ({
  'no-restricted-syntax': ['error', ...[...names, 'enum', 'inject'].flatMap((name) => BANS[name])],
});

export default tseslint.config(
  {
    ignores: ['**/dist/', 'coverage/', 'node_modules/', '.cache/', 'test/tron-node/', 'test/vectors/'],
  },
  eslint.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' },
      ],
      // Numbers and bigints read well in a message; objects and undefined stay forbidden.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // Nest's modules are empty classes under a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // `() => thing.close()` as a callback is plain and safe.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      eqeqeq: 'error',
      'no-console': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      ...ban('env', 'time', 'sql', 'params'),
    },
  },
  {
    files: ['src/{domain,modules/{billing,orders}}/**/*.ts'],
    rules: ban('env', 'time', 'sql', 'float', 'params'),
  },
  // A migration is a record that nobody edits again, and holds whole functions.
  { files: ['src/platform/database/migrations/**/*.ts'], rules: { ...ban('env', 'time'), 'max-lines': 'off' } },
  { files: ['src/platform/config/config.ts'], rules: ban('time', 'sql', 'params') },
  { files: ['src/platform/support/clock.ts'], rules: ban('env', 'sql', 'params') },
  {
    files: ['packages/devnet/**/*.ts'],
    // The exceptions of the EVM library are no Errors, and its interpreter catches only its own.
    rules: { ...ban('env'), '@typescript-eslint/only-throw-error': 'off' },
  },
  { files: ['packages/local/**/*.ts', 'src/apps/*/main.*.ts'], rules: { ...ban('sql'), 'no-console': 'off' } },
  // A merchant's program has no Clock of ours.
  { files: ['packages/sdk/src/**/*.ts'], rules: ban('env', 'sql', 'params') },
  // Pages run in a browser, by its clock; a component's markup makes it long.
  {
    files: ['packages/console/src/**/*.{ts,tsx}'],
    rules: {
      ...ban('env', 'sql', 'float', 'params'),
      'max-lines-per-function': ['error', { max: 110, skipBlankLines: true, skipComments: true }],
    },
  },
  // Made by a program, as long as the interface is.
  { files: ['packages/sdk/src/api-types.ts'], rules: { 'max-lines': 'off' } },
  { files: ['src/modules/operator/**/*.ts', 'packages/devnet/src/main.*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['test/**/*.ts'],
    rules: {
      ...ban(),
      'no-console': 'off',
      'max-lines-per-function': 'off',
      // Answers read over HTTP arrive untyped, and a test states their shape by asserting on them.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  { files: ['test/{integration,unit,setup}/**/*.ts'], rules: ban('flushall') },
  {
    files: ['**/*.{js,cjs,mjs}'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        module: 'writable',
        URL: 'readonly',
        fetch: 'readonly',
        AbortSignal: 'readonly',
        setInterval: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
        Buffer: 'readonly',
      },
    },
  },
);
