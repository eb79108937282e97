// Lint rules of this project. Each forbids a way of writing and names its replacement; .oxlintrc.json enables them.
const SQL_START = String.raw`/^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|CREATE|ALTER|DROP|LOCK|TRUNCATE)\s/`;
// Forbidden inside SQL: everything except a CAPITAL_CASE constant, its arithmetic and its methods.
const SPLICED =
  ':matches(Identifier:not([name=/^[A-Z][A-Z0-9_]*$/]), MemberExpression:not([object.name=/^[A-Z][A-Z0-9_]*$/]),' +
  ' CallExpression:not([callee.object.name=/^[A-Z][A-Z0-9_]*$/]), TemplateLiteral, ConditionalExpression,' +
  ' LogicalExpression, AwaitExpression)';

const BANS = {
  env: {
    message: 'Only src/platform/config/config.ts and the roots read process.env; take a Config instead.',
    selectors: [
      "MemberExpression[object.name='process'][property.name='env']",
      "VariableDeclarator[init.name='process'] > ObjectPattern > Property[key.name='env']",
      "ImportDeclaration[source.value=/^(node:)?process$/] ImportSpecifier[imported.name='env']",
    ],
  },
  time: {
    message: 'Ask the Clock for the time, so that a test can move it.',
    selectors: [
      "CallExpression[callee.object.name='Date'][callee.property.name='now']",
      "NewExpression[callee.name='Date'][arguments.length=0]",
    ],
  },
  float: {
    message: 'Money is bigint: use the units of src/domain, never a float.',
    selectors: [
      'CallExpression[callee.name=/^(Number|parseFloat|parseInt)$/]',
      "CallExpression[callee.object.name='Number'][callee.property.name=/^(parseFloat|parseInt)$/]",
      "UnaryExpression[operator='+']",
    ],
  },
  sql: {
    message: 'Pass values to SQL as parameters ($1); only a CAPITAL_CASE constant may be spliced in.',
    selectors: [
      `TemplateLiteral[quasis.0.value.raw=${SQL_START}] > ${SPLICED}`,
      `BinaryExpression[operator='+'][left.value=${SQL_START}] > ${SPLICED}`,
    ],
  },
  flushall: {
    message: 'Other tests share this server: empty the database of yours with flushdb.',
    selectors: ["MemberExpression[property.name='flushall']"],
  },
  params: {
    message: 'Five arguments in a row are mixed up: name them in an object.',
    selectors: [
      ":matches(FunctionDeclaration, ArrowFunctionExpression, MethodDefinition[kind!='constructor'] > FunctionExpression)[params.length>4]",
    ],
  },
  enum: { message: 'Use a union of strings.', selectors: ['TSEnumDeclaration'] },
  // Classes are injected by their type. Only tokens without a type, written like constants, need @Inject.
  inject: {
    message: 'A constructor gets what its types name; @Inject is for what has no class.',
    selectors: ["Decorator > CallExpression[callee.name='Inject'][arguments.0.name=/[a-z]/]"],
  },
};

const ruleOf = ({ message, selectors }) => ({
  create: (context) =>
    Object.fromEntries(selectors.map((selector) => [selector, (node) => context.report({ node, message })])),
});

/** The variables of an import that the file uses only as types. */
const usedAsType = (context, declaration) =>
  context.sourceCode.getDeclaredVariables(declaration).filter(({ defs: [{ node }], references }) => {
    const isTyped = declaration.importKind === 'type' || node.importKind === 'type';
    return (
      !isTyped &&
      references.length > 0 &&
      references.every(({ isTypeReference, isValueReference }) => isTypeReference && !isValueReference)
    );
  });

// Oxlint's consistent-type-imports also reports classes that Nest injects, but decorator metadata needs their values.
const typeAsValue = {
  create(context) {
    let hasDecorator = false;
    const imports = [];
    return {
      Decorator: () => (hasDecorator = true),
      ImportDeclaration: (declaration) => imports.push(declaration),
      TSImportType: (node) => context.report({ node, message: 'Import the type above, by `import type`.' }),
      'Program:exit'() {
        for (const declaration of hasDecorator ? [] : imports) {
          for (const { name } of usedAsType(context, declaration)) {
            context.report({ node: declaration, message: `${name} is used as a type alone: import it by \`type\`.` });
          }
        }
      },
    };
  },
};

export default {
  meta: { name: 'ban' },
  rules: {
    ...Object.fromEntries(Object.entries(BANS).map(([name, ban]) => [name, ruleOf(ban)])),
    'type-as-value': typeAsValue,
  },
};
