/**
 * Renders the OpenAPI document as an HTML page without scripts or external resources, so that the strictest content
 * security policy applies to it too.
 */
import { createHash } from 'node:crypto';
import { invariant } from '../../../domain/errors.js';
import type { JsonSchema } from '../body/member-rules.js';
import type { Guide } from './guides.js';
import { escapeHtml as escape } from './markdown.js';

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:60rem;padding:1rem;color:#1b1f24}
h1,h2,h3,h4{line-height:1.2}h2{border-top:1px solid #d0d7de;margin-top:2.5rem;padding-top:1.5rem}
code,pre{font:13px/1.45 ui-monospace,monospace;background:#f6f8fa;border-radius:4px}
code{padding:.1em .3em}pre{padding:.8rem;overflow:auto}table{border-collapse:collapse;width:100%;margin:.5rem 0 1rem}
td,th{border:1px solid #d0d7de;padding:.35rem .55rem;text-align:left;vertical-align:top}th{background:#f6f8fa}
summary{cursor:pointer;font-weight:600;margin:.4rem 0}`;

/** The page's content security policy: its own style, by hash, and nothing else. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'`;

interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, SchemaObject>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}
interface SchemaObject {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly oneOf?: readonly SchemaObject[];
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly items?: SchemaObject;
  readonly [keyword: string]: unknown;
}
type Content = Readonly<
  Record<
    string,
    { readonly schema: SchemaObject; readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }
  >
>;
interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description: string;
    readonly schema: SchemaObject;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
}
interface Reference {
  readonly $ref: string;
}
interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
  /** Present if the answer has a body. */
  readonly content?: Content;
}

/** Returns the page for a document of `describeApi`, with links to `guides` at its top. */
export function renderPage(openApi: JsonSchema, guides: readonly Guide[]): string {
  const document = openApi as unknown as Document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const contents = operations.map(
    ({ path, method, operation }) =>
      `<li><a href="#${escape(operation.operationId)}"><code>${method.toUpperCase()} ${escape(path)}</code></a> ${escape(operation.summary)}</li>`,
  );
  const links = guides.map(({ name, title }) => `<li><a href="/docs/${name}">${escape(title)}</a></li>`);
  return [
    ...headOf(document.info.title),
    `<h1>${escape(document.info.title)} <small>${escape(document.info.version)}</small></h1>`,
    paragraphs(document.info.description),
    `<h2>Guides</h2><p>Read them in this order.</p><ol>${links.join('')}</ol>`,
    '<h2>Every operation</h2>',
    '<p>For generators: <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1).</p>',
    `<ul>${contents.join('')}</ul>`,
    ...operations.map(({ path, method, operation }) => operationHtml(path, method, operation, document)),
    '</body></html>',
  ].join('\n');
}

/** Returns a guide as a separate page. */
export function renderGuide({ title, html }: Guide): string {
  return [...headOf(title), '<p><a href="/docs">All pages</a></p>', html, '</body></html>'].join('\n');
}

function headOf(title: string): string[] {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escape(title)}</title><style>${STYLE}</style></head><body>`,
  ];
}

function operationHtml(path: string, method: string, operation: OperationObject, document: Document): string {
  const parameters = (operation.parameters ?? []).map(({ name, in: place, required, description, schema }) =>
    row([
      `<code>${escape(name)}</code>`,
      escape(place),
      required === true ? 'yes' : 'no',
      `${escape(description)}${limits(schema)}`,
    ]),
  );
  return [
    `<h2 id="${escape(operation.operationId)}"><code>${method.toUpperCase()} ${escape(path)}</code> ${escape(operation.summary)}</h2>`,
    paragraphs(operation.description),
    parameters.length === 0 ? '' : `<h3>Parameters</h3>${table(['name', 'in', 'required', 'meaning'], parameters)}`,
    operation.requestBody === undefined
      ? ''
      : `<h3>Request</h3>${contentHtml(operation.requestBody.content, document, IN_REQUESTS)}`,
    '<h3>Answers</h3>',
    ...Object.entries(operation.responses).map(([status, answer]) =>
      responseHtml(status, '$ref' in answer ? sharedResponse(answer, document) : answer, document),
    ),
  ].join('\n');
}

/** Returns the response of `components.responses` that a reference names. */
function sharedResponse({ $ref }: Reference, { components }: Document): ResponseObject {
  const response = components.responses[nameIn($ref)];
  invariant(response !== undefined, `${$ref} is described`);
  return response;
}

function responseHtml(status: string, answer: ResponseObject, document: Document): string {
  const isError = Number(status) >= 400;
  const headers = Object.entries(answer.headers ?? {}).map(([name, header]) =>
    row([`<code>${escape(name)}</code>`, escape(header.description)]),
  );
  return [
    `<details${isError ? '' : ' open'}><summary>${status}</summary>`,
    paragraphs(answer.description),
    headers.length === 0 ? '' : table(['header', 'meaning'], headers),
    contentHtml(answer.content ?? {}, document, isError ? undefined : IN_ANSWERS),
    '</details>',
  ].join('');
}

/** Returns the last part of a reference: the name of the component. */
function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** The meaning of a member's presence in a schema's `required`, and of its absence. */
const IN_REQUESTS = ['required', 'optional'] as const;
const IN_ANSWERS = ['always', 'when it applies'] as const;
type Presence = typeof IN_REQUESTS | typeof IN_ANSWERS;

/** Renders a body's examples and, if `presence` is given, its members. */
function contentHtml(content: Content, document: Document, presence: Presence | undefined): string {
  return Object.values(content)
    .map(({ schema, examples }) => {
      const shown = Object.entries(examples ?? {}).map(
        ([name, { value }]) => `<p>${escape(name)}</p><pre>${escape(JSON.stringify(value, undefined, 2))}</pre>`,
      );
      return (presence === undefined ? '' : membersHtml(schema, document, presence)) + shown.join('');
    })
    .join('');
}

function membersHtml(schema: SchemaObject, document: Document, presence: Presence): string {
  const { properties, required, oneOf } = resolved(schema, document);
  const rows = Object.entries(properties ?? {}).map(([name, member]) =>
    row([
      `<code>${escape(name)}</code>`,
      escape(typeName(member)),
      presence[required?.includes(name) === true ? 0 : 1],
      `${escape(member.description ?? '')}${limits(member)}${nested(member, document, presence)}`,
    ]),
  );
  const forms = (oneOf ?? []).map(({ title, required: sent }) => `${title ?? ''} (${(sent ?? []).join(', ')})`);
  const choice = forms.length === 0 ? '' : `<p>In exactly one form: ${escape(forms.join(', or '))}.</p>`;
  return choice + table(['member', 'type', 'presence', 'meaning'], rows);
}

function nested(member: SchemaObject, document: Document, presence: Presence): string {
  const inner = member.items ?? (member.properties === undefined ? undefined : member);
  if (inner === undefined || inner.$ref !== undefined) return '';
  return `<details><summary>its members</summary>${membersHtml(inner, document, presence)}</details>`;
}

function resolved(schema: SchemaObject, document: Document): SchemaObject {
  return schema.$ref === undefined ? schema : (document.components.schemas[nameIn(schema.$ref)] ?? {});
}

function typeName(schema: SchemaObject): string {
  if (schema.items !== undefined) return `list of ${typeName(schema.items)}`;
  return schema.$ref === undefined ? [schema.type ?? ''].flat().join(' or ') : nameIn(schema.$ref);
}

const LIMITS = [
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'maxProperties',
  'pattern',
  'enum',
  'default',
  'format',
];

function limits(schema: SchemaObject): string {
  const shown = LIMITS.filter((keyword) => schema[keyword] !== undefined).map(
    (keyword) => `${keyword} <code>${escape(JSON.stringify(schema[keyword]))}</code>`,
  );
  return shown.length === 0 ? '' : `<br><small>${shown.join(' ')}</small>`;
}

function table(heads: readonly string[], rows: readonly string[]): string {
  return `<table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>${rows.join('')}</table>`;
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

/** Blank lines separate paragraphs, and backticks mark code. Nothing else is markup. */
function paragraphs(text: string): string {
  return text
    .split(/\n\n+/)
    .map((part) => `<p>${escape(part).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('');
}
