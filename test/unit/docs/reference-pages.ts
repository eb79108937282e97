// The generated parts of docs/: members of every request and answer, error codes, and meanings of metrics.
import { HTTP_STATUS, type ErrorCode } from '../../../src/domain/errors.js';
import { ERROR_HELP, ERROR_TOPICS } from '../../../src/platform/http/openapi/openapi-errors.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly 'x-scope': string;
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

export interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const NOTE =
  '<!-- Generated from openapi.json. UPDATE_REFERENCE=1 with test/unit/docs/reference.test.ts writes it. -->';

/** Returns the text of each generated page by its path. */
export function referencePages(description: Description): Readonly<Record<string, string>> {
  return {
    [`${FOLDER}reference-requests.md`]: requestsPage(description),
    [pageOf('Order')]: answersPage(description, 'answers'),
    [pageOf('Balance')]: answersPage(description, 'account'),
    [pageOf('EventPage')]: answersPage(description, 'events'),
  };
}

const FOLDER = 'docs/interface/';
const EVENTS = /^(?:Event|Webhook|Statement|(?:Priced)?AutoDelegation)/;
const ACCOUNT = /^(?:Balance|CreditsBalance|Deposit|Ledger|Limits|Topup)/;
/** The titles of the pages of answers. */
const PARTS = {
  answers: 'answers',
  account: 'balance, deposits, ledger and limits',
  events: 'events, webhooks, statements and auto-delegations',
} as const;
type Part = keyof typeof PARTS;

function partOf(name: string): Part {
  if (EVENTS.test(name)) return 'events';
  return ACCOUNT.test(name) ? 'account' : 'answers';
}

const pageOf = (name: string): string => `${FOLDER}reference-${partOf(name)}.md`;
const isRequest = (name: string): boolean => name.endsWith('Request');

/** Returns a heading and a table for each topic of error codes. */
export function errorTables(): string {
  return Object.entries(ERROR_TOPICS)
    .map(([topic, codes]) => {
      const rows = (Object.keys(codes) as ErrorCode[]).map((code) => {
        const { cause, remedy } = ERROR_HELP[code];
        return row([`\`${code}\``, HTTP_STATUS[code].toString(), `${cause}.`, remedy]);
      });
      return `## ${topic}\n\n${table(['code', 'status', 'cause', 'remedy'], rows)}`;
    })
    .join('\n\n');
}

const METRIC_ROW = /^\| `(\w+)` \| (?!backup)(.*) \| .* \|$/gm;

/**
 * Returns the page of metrics with the help text of each metric as its meaning. The backup's script has its own texts.
 * Throws for a metric without exactly one help text.
 */
export function metricsPage(page: string, code: readonly string[]): string {
  return page.replaceAll(METRIC_ROW, (_, name: string, columns: string) => {
    const declared = new RegExp(`'${name}',\\s*(?:help:\\s*)?'([^'\n]*)'`, 'g');
    const [help, ...others] = code.flatMap((text) => [...text.matchAll(declared)].map((match) => match[1]!));
    if (help === undefined || others.length > 0) throw new Error(`${name} needs exactly one help text`);
    return `| \`${name}\` | ${columns} | ${textOf(help)} |`;
  });
}

function requestsPage({ paths, components }: Description): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  const operationRows = operations.map(({ name, operation }) =>
    row([
      `\`${name}\``,
      operation.summary,
      `${operation['x-scope']}${operation.security === undefined ? '' : ', MD5'}`,
      linkTo(operation.requestBody?.content),
      Object.entries(operation.responses)
        .filter(([status]) => Number(status) < 400)
        .map(([status, { content }]) => `${status} ${linkTo(content)}`.trim())
        .join('<br>'),
    ]),
  );
  const parameters = operations.flatMap(({ name, operation }) =>
    (operation.parameters ?? []).map(({ name: parameter, in: place, required, description, schema }) => {
      const meaning = `${required === true ? 'Required. ' : ''}${textOf(description)}`;
      return { operation: `\`${name}\``, rest: [`\`${parameter}\``, place, typeOf(schema), meaning] };
    }),
  );
  const users = new Map<string, typeof parameters>();
  for (const each of parameters) users.set(row(each.rest), [...(users.get(row(each.rest)) ?? []), each]);
  const parameterRows = [...users.values()].map((same) =>
    row([...same[0]!.rest, same.map(({ operation }) => operation).join('<br>')]),
  );
  return [
    '# Reference: requests',
    NOTE,
    'Every operation, parameter and body member, generated from `openapi.json`. The rules are in the ' +
      '[other pages](../interface.md). The scope is that of the API key; `MD5` marks an operation that also takes the ' +
      'older signature. Answers are in [answers](reference-answers.md), [account](reference-account.md) and ' +
      '[events](reference-events.md).',
    '## Operations',
    table(['operation', 'purpose', 'scope', 'body', 'success'], operationRows),
    '## Parameters',
    table(['parameter', 'in', 'type', 'meaning', 'operations'], parameterRows),
    ...schemasOf(components.schemas, isRequest),
  ].join('\n\n');
}

function answersPage({ components }: Description, part: Part): string {
  return [
    `# Reference: ${PARTS[part]}`,
    NOTE,
    'Generated from `openapi.json`. An *optional* member is absent where it does not apply; it is never ' +
      'null. Every answer to a test project also has `"test": true`.',
    ...schemasOf(components.schemas, (name) => !isRequest(name) && partOf(name) === part),
  ].join('\n\n');
}

/** Returns a heading and a table for each schema with members. */
function schemasOf(schemas: Readonly<Record<string, Schema>>, isWanted: (name: string) => boolean): string[] {
  const known = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const items = schema.properties?.['items']?.items;
    if (items?.properties !== undefined) known.set(shapeOf(items), `${name}.items`);
    if (schema.properties !== undefined && !isRequest(name)) known.set(shapeOf(schema), name);
  }
  const homes = HOMES.filter(isWanted).map((home) => [home, schemas[home]!] as const);
  const meaningOf: MeaningOf = (name, path, member) => meaningIn(homes, name, path, member);
  const sections = Object.entries(schemas)
    .filter(([name, { properties }]) => isWanted(name) && Object.keys(properties ?? {}).length > 0)
    .map(([name, schema]) => {
      const forms = (schema.oneOf ?? []).map(
        ({ title, required }) => `${title ?? ''} (\`${(required ?? []).join('`, `')}\`)`,
      );
      const whole = Object.entries(schemas).find(([, other]) => isPartOf(schema, other));
      if (whole !== undefined) {
        const missing = Object.keys(whole[1].properties!).filter((member) => schema.properties![member] === undefined);
        const names = new Intl.ListFormat('en-GB').format(missing.map((each) => `\`${each}\``));
        return `## ${name}\n\nThe members of ${anchor(whole[0])} without ${names}.`;
      }
      const choice = forms.length === 0 ? [] : [`Exactly one form: ${forms.join(' or ')}.`];
      const rows = memberRows(schema, '', name, { known, meaningOf });
      return [`## ${name}`, ...choice, table(['member', 'type', 'meaning'], rows)].join('\n\n');
    });
  return [`${sections.join('\n\n')}\n`];
}

/** Schemas that show a meaning in full; the others of their page refer to them. */
const HOMES = ['QuoteRequest', 'OrderRequest', 'Order'] as const;
const WORDS_SHOWN_AGAIN = 8;

/** Returns the meaning of a member of a schema, at its path. */
type MeaningOf = (name: string, path: string, member: Schema) => string;

interface PageContext {
  readonly known: ReadonlyMap<string, string>;
  readonly meaningOf: MeaningOf;
}

function meaningIn(homes: readonly (readonly [string, Schema])[], name: string, path: string, member: Schema): string {
  const meaning = textOf(member.description ?? '');
  if (meaning.split(' ').length <= WORDS_SHOWN_AGAIN) return meaning;
  const last = path.split('.').at(-1)!;
  const home = homes.find(([, { properties }]) => properties?.[last]?.description === member.description);
  if (home === undefined || (home[0] === name && path === last)) return meaning;
  return home[0] === name ? `As \`${last}\`.` : `As in ${anchor(home[0])}.`;
}

function memberRows(schema: Schema, prefix: string, page: string, context: PageContext): string[] {
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== 'test')
    .flatMap(([name, member]) => {
      const isRequired = schema.required?.includes(name) === true;
      const mark = isRequired === isRequest(page) ? `, *${isRequired ? 'required' : 'optional'}*` : '';
      const inner = member.items ?? member;
      const path = `${prefix}${name}${member.items === undefined ? '' : '[]'}`;
      const found = inner.properties === undefined ? undefined : context.known.get(shapeOf(inner));
      const same = found?.replace('.items', '') === page ? undefined : found;
      const list = `${member.items === undefined ? '' : 'list of '}${same?.endsWith('.items') === true ? 'an entry of ' : ''}`;
      const type =
        same === undefined ? typeOf(member, page) : `${list}${linkBetween(page, same.replace('.items', ''))}`;
      const own = row([`\`${path}\``, `${type}${mark}`, context.meaningOf(page, path, member)]);
      if (same !== undefined || inner.properties === undefined) return [own];
      return [own, ...memberRows(inner, `${path}.`, page, context)];
    });
}

/** Returns true when more than ten but not all members of `whole` make up `schema`, unchanged. */
function isPartOf(schema: Schema, whole: Schema): boolean {
  const own = Object.entries(schema.properties ?? {});
  const all = Object.keys(whole.properties ?? {}).length;
  const isSame = ([name, member]: [string, Schema]): boolean =>
    JSON.stringify(member) === JSON.stringify(whole.properties?.[name]);
  return own.length > 10 && own.length < all && own.every(isSame);
}

/** Returns the names and types of a schema's members. They are equal for a schema and its inlined copy. */
function shapeOf({ properties, required }: Schema): string {
  const members = Object.entries(properties ?? {}).filter(([name]) => name !== 'test');
  return JSON.stringify([members, required]);
}

function linkTo(content: Content | undefined): string {
  const [first] = Object.values(content ?? {});
  const name = first?.schema.$ref?.split('/').at(-1);
  if (name === undefined) return '';
  if (name === 'EventStream') return 'a stream';
  if (name === 'StatementLines') return 'CSV';
  return /ActRequest$|^CreditsBalanceRequest$/.test(name) ? 'none or `{}`' : linkBetween('Request', name);
}

const anchor = (name: string, page = ''): string => `[${name}](${page}#${name.toLowerCase()})`;

/** Returns a link to the table of `to`, for the page that has the table of `from`. */
function linkBetween(from: string, to: string): string {
  const isHere = isRequest(to) || (!isRequest(from) && pageOf(from) === pageOf(to));
  return anchor(to, isHere ? '' : pageOf(to).replace(FOLDER, ''));
}

/** Names of patterns. */
const FORMS: Readonly<Record<string, string>> = {
  '^T[1-9A-HJ-NP-Za-km-z]{33}$': 'address',
  '^-?[0-9]+\\.[0-9]{6}$': 'decimal, 6 digits',
  '^-?[0-9]+\\.[0-9]{8}$': 'decimal, 8 digits',
  '^[0-9a-f]{64}$': 'hash',
  '^(0x)?([0-9a-fA-F]{2})*$': 'hex',
};

function typeOf(schema: Schema, page = 'Request'): string {
  if (schema.$ref !== undefined) return linkBetween(page, schema.$ref.split('/').at(-1)!);
  if (schema.items !== undefined) return `list of ${typeOf(schema.items, page)}`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined)
    return schema.enum.length > 8 ? 'text' : schema.enum.map((each) => `\`${each}\``).join(', ');
  const kinds = [schema.type ?? 'any'].flat().filter((kind) => kind !== 'null');
  const form = FORMS[schema.pattern ?? ''] ?? (schema.format === 'date-time' ? 'time' : undefined);
  const kind = form ?? kinds.join(' or ').replace('string', 'text');
  return [kind, rangeOf(schema, form), schema.default === undefined ? '' : `default ${numbers(schema.default)}`]
    .filter((part) => part !== '')
    .join('; ');
}

function rangeOf(schema: Schema, form: string | undefined): string {
  const { minimum, maximum, minLength, maxLength, maxProperties } = schema;
  if (maxProperties !== undefined) return `at most ${maxProperties.toString()} members`;
  if (minimum !== undefined || maximum !== undefined) {
    return maximum === undefined ? `from ${numbers(minimum)}` : `${numbers(minimum ?? 0)} … ${numbers(maximum)}`;
  }
  if (maxLength === undefined || form === 'address' || form === 'time') return '';
  const least = minLength === undefined || minLength === 0 ? '' : `${minLength.toString()}–`;
  return `${least === '' ? 'at most ' : least}${numbers(maxLength)} characters`;
}

const numbers = (value: unknown): string =>
  value === Number.MAX_SAFE_INTEGER ? '2^53 − 1' : String(value).replaceAll(/\B(?=(\d{3})+$)/g, ' ');
const textOf = (text: string): string => text.replaceAll('\n', ' ').replaceAll('|', String.raw`\|`);
const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function table(heads: readonly string[], rows: readonly string[]): string {
  return [row(heads), row(heads.map(() => '---')), ...rows].join('\n');
}
