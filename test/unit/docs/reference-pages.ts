// The generated parts of docs/: members of every request and answer, error codes, and meanings of metrics.
import { HTTP_STATUS, type ErrorCode } from '../../../src/domain/errors.js';
import { METRIC_LINE } from '../../support/docs/metrics-page.js';
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

/** Returns the text of each generated page by its path. Meanings of members stay in openapi.json. */
export function referencePages(description: Description): Readonly<Record<string, string>> {
  return { [`${FOLDER}${REQUESTS}`]: requestsPage(description), [`${FOLDER}${ANSWERS}`]: answersPage(description) };
}

const FOLDER = 'docs/interface/';
const REQUESTS = 'reference-requests.md';
const ANSWERS = 'reference-answers.md';
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

/**
 * Returns the page of metrics with the help text of each metric as its meaning. The backup's script has its own texts.
 * Throws for a metric without exactly one help text.
 */
export function metricsPage(page: string, code: readonly string[]): string {
  return page.replaceAll(METRIC_LINE, (line: string, name: string, process?: string) => {
    if (process === 'backup') return line;
    const declared = new RegExp(`'${name}',\\s*(?:help:\\s*)?'([^'\n]*)'`, 'g');
    const [help, ...others] = code.flatMap((text) => [...text.matchAll(declared)].map((match) => match[1]!));
    if (help === undefined || others.length > 0) throw new Error(`${name} needs exactly one help text`);
    return `${line.slice(0, line.indexOf(': '))}: ${textOf(help)}`;
  });
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

function requestsPage({ paths, components }: Description): string {
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  return [
    '# Reference: requests',
    NOTE,
    '`openapi.json`, [the types of the package](../../packages/sdk/src/api-types.ts) and the pages under `GET /docs` ' +
      'have the meanings. `?` marks an optional member, `#` an integer, `[]` a list. A member without a type is text; the ' +
      'members of an object follow it in braces.',
    '## Operations',
    'Method, path and query (scope of the API key; `MD5`: also takes the older signature), body → answer, with status 200 ' +
      'where none is shown. `{}` is a body that may be absent.',
    calls.map(operationLine).join('\n'),
    '## Parameters',
    parameterLines(calls).join('\n'),
    ...schemasOf(components.schemas, isRequest),
  ].join('\n\n');
}

function operationLine({ method, path, operation }: Call): string {
  const names = (operation.parameters ?? []).filter(({ in: place }) => place === 'query').map(({ name }) => name);
  const query = names.length === 0 ? '' : `?${names.join('&')}`;
  const scope = `${operation['x-scope']}${operation.security === undefined ? '' : ', MD5'}`;
  const body = linkTo(operation.requestBody?.content);
  const call = `\`${method} ${path}${query}\` (${scope})${body === '' ? '' : ` ${body}`}`;
  return `- ${call} → ${successOf(operation)}`;
}

/** Returns a line for each place, with its parameters, and their operations where only some that have the name share it. */
function parameterLines(calls: readonly Call[]): string[] {
  const places = new Map<string, Map<string, Map<string, Call[]>>>();
  for (const call of calls) {
    for (const { name, in: place, required, schema } of call.operation.parameters ?? []) {
      const names = places.get(place) ?? new Map<string, Map<string, Call[]>>();
      const known = names.get(name) ?? new Map<string, Call[]>();
      // The answer of a list has the values by which it can be filtered.
      const type = place === 'query' && schema.enum !== undefined ? `an entry's \`${name}\`` : typeOf(schema);
      const member = memberOf(`${name}${required === true ? '' : '?'}`, type);
      names.set(name, known.set(member, [...(known.get(member) ?? []), call]));
      places.set(place, names);
    }
  }
  return [...places].map(([place, names]) => {
    const members = [...names.values()].flatMap((known) =>
      [...known].map(([member, users]) =>
        known.size > 1 || place === 'header' ? `${member} of ${placesOf(users)}` : member,
      ),
    );
    return `- ${place}: ${members.join('; ')}`;
  });
}

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
function placesOf(calls: readonly Call[]): string {
  const methods = [...new Set(calls.map(({ method }) => method))];
  return methods
    .map((method) => {
      const own = calls.filter((each) => each.method === method).map(({ path }) => `\`${path}\``);
      return `${method} ${own.join(', ')}`;
    })
    .join('; ');
}

function answersPage({ components }: Description): string {
  return [
    '# Reference: answers',
    NOTE,
    `In the notation of [requests](${REQUESTS}). An optional member is absent where it does not apply. A decimal has six ` +
      'digits after the point, a rate eight. A *page* has `items[]` and, unless it is the last one, `next_cursor`: the ' +
      '`cursor` of the next page.',
    ...schemasOf(components.schemas, (name) => !isRequest(name)),
  ].join('\n\n');
}

/** Returns a heading and the members of each schema that has some. */
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
      const whole = Object.entries(schemas).find(([, other]) => isPartOf(schema, other));
      if (whole !== undefined) {
        const missing = Object.keys(whole[1].properties!).filter((member) => schema.properties![member] === undefined);
        return `## ${name}\n\nThe members of ${linkBetween(name, whole[0])} without ${listed(missing)}.`;
      }
      const forms = (schema.oneOf ?? []).map(({ title, required }) => `${title ?? ''} (${listed(required ?? [])})`);
      const choice = forms.length === 0 ? [] : [`Exactly one form: ${forms.join(' or ')}.`];
      return [`## ${name}`, ...choice, contentsOf(schema, { name, known })].join('\n\n');
    });
  return [`${sections.join('\n\n')}\n`];
}

const listed = (names: readonly string[]): string =>
  new Intl.ListFormat('en-GB').format(names.map((name) => `\`${name}\``));

/** Returns a member with its type in brackets. Text needs no name, an integer has a mark. */
function memberOf(marked: string, type: string): string {
  const [, kind, bounds = type] = /^(text|integer)(?:, (.*))?$/.exec(type) ?? [];
  const shown = kind === undefined ? type : bounds === type ? '' : bounds;
  return `\`${marked}${kind === 'integer' ? '#' : ''}\`${shown === '' ? '' : ` (${shown})`}`;
}

interface PageContext {
  /** The schema whose members are listed. */
  readonly name: string;
  readonly known: ReadonlyMap<string, string>;
}

const NEXT_PAGE = /^The cursor of the next page\. Absent on the last page\.$/;

function contentsOf(schema: Schema, context: PageContext): string {
  const { items, next_cursor: cursor } = schema.properties ?? {};
  const entry = items !== undefined && NEXT_PAGE.test(cursor?.description ?? '') ? items.items! : undefined;
  if (entry?.$ref !== undefined) return `A page of ${typeOf(entry, context.name)}.`;
  return `${entry === undefined ? '' : 'A page of entries with '}${membersOf(entry ?? schema, context)}.`;
}

/** Returns the members with their types, separated by commas. Those of an object follow it in braces. */
function membersOf({ properties = {}, required }: Schema, context: PageContext): string {
  return Object.entries(properties)
    .filter(([name]) => name !== 'test')
    .map(([name, member]) => {
      const inner = member.items ?? member;
      const marked = `${name}${member.items === undefined ? '' : '[]'}${required?.includes(name) === true ? '' : '?'}`;
      const path = `\`${marked}\``;
      const found = inner.properties === undefined ? undefined : context.known.get(shapeOf(inner));
      const [same, isEntry] = found?.split('.') ?? [];
      if (same !== undefined && same !== context.name) {
        return `${path} (${isEntry === undefined ? '' : 'an entry of '}${linkBetween(context.name, same)})`;
      }
      if (inner.properties !== undefined) return `${path} {${membersOf(inner, context)}}`;
      return memberOf(marked, typeOf(inner, context.name));
    })
    .join(', ');
}

/** Returns true when at least ten but not all members of `whole` make up `schema`, unchanged. */
function isPartOf(schema: Schema, whole: Schema): boolean {
  const own = Object.entries(schema.properties ?? {});
  const all = Object.keys(whole.properties ?? {}).length;
  const isSame = ([name, member]: [string, Schema]): boolean =>
    JSON.stringify(member) === JSON.stringify(whole.properties?.[name]);
  return own.length >= 10 && own.length < all && own.every(isSame);
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

/** Returns a link to the members of `to`, for the page that has those of `from`. */
function linkBetween(from: string, to: string): string {
  const page = isRequest(from) === isRequest(to) ? '' : isRequest(to) ? REQUESTS : ANSWERS;
  return `[${to}](${page}#${to.toLowerCase()})`;
}

/** Names of patterns. */
const FORMS: Readonly<Record<string, string>> = {
  '^T[1-9A-HJ-NP-Za-km-z]{33}$': 'address',
  '^-?[0-9]+\\.[0-9]{6}$': 'decimal',
  '^-?[0-9]+\\.[0-9]{8}$': 'rate',
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
