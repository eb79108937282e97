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

/** Returns a heading and a list for each topic of error codes. */
export function errorLists(): string {
  return Object.entries(ERROR_TOPICS)
    .map(([topic, codes]) => {
      const lines = (Object.keys(codes) as ErrorCode[]).map((code) => {
        const { cause, remedy } = ERROR_HELP[code];
        return `- \`${code}\` (${HTTP_STATUS[code].toString()}): ${cause}. → ${remedy}`;
      });
      return `## ${topic}\n\n${lines.join('\n')}`;
    })
    .join('\n\n');
}

const METRIC_LINE = /^- `(\w+)` (\((?!backup)\w+, \w+\)): .*$/gm;

/**
 * Returns the page of metrics with the help text of each metric as its meaning. The backup's script has its own texts.
 * Throws for a metric without exactly one help text.
 */
export function metricsPage(page: string, code: readonly string[]): string {
  return page.replaceAll(METRIC_LINE, (_, name: string, kind: string) => {
    const declared = new RegExp(`'${name}',\\s*(?:help:\\s*)?'([^'\n]*)'`, 'g');
    const [help, ...others] = code.flatMap((text) => [...text.matchAll(declared)].map((match) => match[1]!));
    if (help === undefined || others.length > 0) throw new Error(`${name} needs exactly one help text`);
    return `- \`${name}\` ${kind}: ${textOf(help)}`;
  });
}

function requestsPage({ paths, components }: Description): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const operationLines = operations.map(({ method, path, operation }) => {
    const scope = `${operation['x-scope']}${operation.security === undefined ? '' : ', MD5'}`;
    const body = linkTo(operation.requestBody?.content);
    const call = `\`${method} ${path}\` (${scope})${body === '' ? '' : ` ${body}`}`;
    return `- ${call} → ${successOf(operation)}: ${operation.summary}`;
  });
  const users = new Map<string, { readonly inPath: boolean; readonly of: (typeof operations)[number][] }>();
  for (const each of operations) {
    for (const { name, in: place, required, description, schema } of each.operation.parameters ?? []) {
      const mark = required === true ? '' : '?';
      const meaning = textOf(description).replace(EVENT_TYPES, ': [the types of events](events.md#26-events).');
      const line = `- \`${name}${mark}\` (${place}; ${typeOf(schema)}): ${meaning}`;
      const user = users.get(line) ?? { inPath: place === 'path', of: [] };
      users.set(line, { ...user, of: [...user.of, each] });
    }
  }
  const parameterLines = [...users].map(([line, { inPath, of }]) => (inPath ? line : `${line} *${placesOf(of)}*`));
  return [
    '# Reference: requests',
    NOTE,
    'Every operation, parameter and body member, generated from `openapi.json`. The rules are in the ' +
      '[other pages](../interface.md). `?` marks an optional member, `[]` a list. A member without a type is text.',
    '## Operations',
    'Method and path (scope of the API key; `MD5`: also takes the older signature) body → answer: purpose. The status ' +
      'of a success is 200 where none is shown. `{}` is a body that may be absent.',
    operationLines.join('\n'),
    '## Parameters',
    'In italics: the operations. A parameter of the path belongs to each path that names it.',
    parameterLines.join('\n'),
    ...schemasOf(components.schemas, isRequest),
  ].join('\n\n');
}

/** The enumeration of event types in a description. Another page lists them. */
const EVENT_TYPES = /: (?:[a-z_]+\.[a-z_]+(?:, |\.$)){12,}/;

function successOf({ responses }: Operation): string {
  const answers = new Map<string, string[]>();
  for (const [status, { content }] of Object.entries(responses)) {
    const answer = linkTo(content);
    if (Number(status) < 400) answers.set(answer, [...(answers.get(answer) ?? []), status]);
  }
  const shown = [...answers].map(([answer, statuses]) => {
    const status = statuses.join(', ') === '200' && answer !== '' ? '' : statuses.join(', ');
    return `${status} ${answer}`.trim();
  });
  return shown.join(', ');
}

/** Returns the operations with each method once: `GET /a, /b; POST /c`. */
function placesOf(operations: readonly { readonly method: string; readonly path: string }[]): string {
  const methods = [...new Set(operations.map(({ method }) => method))];
  return methods
    .map((method) => {
      const own = operations.filter((each) => each.method === method).map(({ path }) => `\`${path}\``);
      return `${method} ${own.join(', ')}`;
    })
    .join('; ');
}

function answersPage({ components }: Description, part: Part): string {
  return [
    `# Reference: ${PARTS[part]}`,
    NOTE,
    'Generated from `openapi.json`. `?` marks an optional member, which is absent where it does not apply and never ' +
      'null; `[]` marks a list. A member without a type is text. Every answer to a test project also has ' +
      '`"test": true`. A *page* has `items[]` and, unless ' +
      'it is the last one, `next_cursor`: the `cursor` of the next page.',
    ...schemasOf(components.schemas, (name) => !isRequest(name) && partOf(name) === part),
  ].join('\n\n');
}

/** Returns a heading and a list for each schema with members. */
function schemasOf(schemas: Readonly<Record<string, Schema>>, isWanted: (name: string) => boolean): string[] {
  const known = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const items = schema.properties?.['items']?.items;
    if (items?.properties !== undefined) known.set(shapeOf(items), `${name}.items`);
    if (schema.properties !== undefined && !isRequest(name)) known.set(shapeOf(schema), name);
  }
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
      return [`## ${name}`, ...choice, ...membersOf(schema, { name, schemas, known })].join('\n\n');
    });
  return [`${sections.join('\n\n')}\n`];
}

interface PageContext {
  /** The schema whose table this is. */
  readonly name: string;
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly known: ReadonlyMap<string, string>;
}

interface Member {
  /** The path, with `?` if the member is optional. */
  readonly path: string;
  readonly type: string;
  readonly meaning: string;
}

const NEXT_PAGE = /^The cursor of the next page\. Absent on the last page\.$/;

/** Returns the paragraphs of a schema's members: repeated conditions, members with own meanings, members of homes. */
function membersOf(schema: Schema, context: PageContext): string[] {
  const { items, next_cursor: cursor } = schema.properties ?? {};
  const isPage = items !== undefined && NEXT_PAGE.test(cursor?.description ?? '');
  const entry = isPage ? items.items! : undefined;
  const listed = entry?.$ref?.split('/').at(-1);
  if (listed !== undefined) return [`A page of ${linkBetween(context.name, listed)}.`];
  const members = memberRows(entry ?? schema, '', context);
  const { own, shared } = sharedOf(members, context);
  const { notes, lines } = notedLines(own);
  const groups = [...shared].map(
    ([home, paths]) => `- As in ${linkBetween(context.name, home)}: ${paths.map((path) => `\`${path}\``).join(', ')}.`,
  );
  return [...(entry === undefined ? [] : ['A page of entries with:']), ...notes, [...lines, ...groups].join('\n')];
}

/** Schemas that show a member in full; the others refer to them. */
const HOMES = ['QuoteRequest', 'OrderRequest', 'Order', 'Balance'] as const;

/** Returns the members with a line of their own, and the paths of those that equal a member of a home, by home. */
function sharedOf(members: readonly Member[], { name, schemas, known }: PageContext) {
  const homes = HOMES.slice(0, HOMES.includes(name as 'Order') ? HOMES.indexOf(name as 'Order') : undefined)
    .filter((home) => isRequest(home) === isRequest(name))
    .map((home) => ({ home, rows: memberRows(schemas[home]!, '', { name: home, schemas, known }) }));
  const own: Member[] = [];
  const shared = new Map<string, string[]>();
  let before: string | undefined;
  for (const member of members) {
    const found = homes.find(({ rows }) => rows.some((row) => isSame(row, member)))?.home;
    // "The same in TRX" must stay behind the figure that it means.
    const isTied = member.meaning.startsWith('The same') && before === undefined;
    before = isTied ? undefined : found;
    if (before === undefined) own.push(member);
    else shared.set(before, [...(shared.get(before) ?? []), member.path]);
  }
  return { own, shared };
}

const isSame = (one: Member, other: Member): boolean =>
  one.path === other.path && one.type === other.type && one.meaning === other.meaning;

const NOTE_MARKS = ['¹', '²', '³'] as const;

/** Returns the lines of members, with each condition that ends three meanings or more as a note. */
function notedLines(members: readonly Member[]): { readonly notes: string[]; readonly lines: string[] } {
  const conditionOf = ({ meaning }: Member): string | undefined => / (Absent [^.]+\.)$/.exec(meaning)?.[1];
  const counts = new Map<string, number>();
  for (const condition of members.flatMap((member) => conditionOf(member) ?? []))
    counts.set(condition, (counts.get(condition) ?? 0) + 1);
  const noted = [...counts].filter(([, count]) => count >= 3).map(([condition]) => condition);
  const lines = members.map((member) => {
    const index = noted.indexOf(conditionOf(member) ?? '');
    const meaning = index < 0 ? member.meaning : member.meaning.slice(0, -noted[index]!.length - 1);
    const type = member.type === 'text' ? '' : ` (${member.type})`;
    return `- \`${member.path}\`${NOTE_MARKS[index] ?? ''}${type}${meaning === '' ? '' : `: ${meaning}`}`;
  });
  return { notes: noted.map((condition, index) => `${NOTE_MARKS[index]!} ${condition}`), lines };
}

function memberRows(schema: Schema, prefix: string, context: PageContext): Member[] {
  const { name: page, schemas, known } = context;
  return Object.entries(schema.properties ?? {})
    .filter(([name]) => name !== 'test')
    .flatMap(([name, member]) => {
      const mark = schema.required?.includes(name) === true ? '' : '?';
      const inner = member.items ?? member;
      const path = `${prefix}${name}${member.items === undefined ? '' : '[]'}`;
      const found = inner.properties === undefined ? undefined : known.get(shapeOf(inner));
      const same = found?.replace('.items', '') === page ? undefined : found;
      const entry = same?.endsWith('.items') === true ? 'an entry of ' : '';
      const type =
        same === undefined ? typeOf(inner, page) : `${entry}${linkBetween(page, same.replace('.items', ''))}`;
      const meaning = meaningOf(path, member, schemas[page]!);
      const own = { path: `${path}${mark}`, type, meaning };
      if (same !== undefined || inner.properties === undefined) return [own];
      // The path of its members shows an object without a meaning.
      if (meaning === '') return memberRows(inner, `${path}${mark}.`, context);
      return [own, ...memberRows(inner, `${path}.`, context)];
    });
}

/** Returns the meaning of a member, which refers to a member of the schema itself where both have the same one. */
function meaningOf(path: string, { description = '' }: Schema, { properties }: Schema): string {
  const last = path.split('.').at(-1)!;
  const isRepeated = path !== last && description.length > 60 && properties?.[last]?.description === description;
  return isRepeated ? `As \`${last}\`.` : textOf(description);
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
  return /ActRequest$|^CreditsBalanceRequest$/.test(name) ? '`{}`' : linkBetween('Request', name);
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
    .join(', ');
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
const textOf = (text: string): string => text.replaceAll('\n', ' ');
