/** Renders each operation of the OpenAPI document as a page, in HTML and in Markdown. */
import { invariant } from '../../../domain/errors.js';
import type { JsonSchema } from '../body/member-rules.js';
import { escapeHtml as escape, keepNumbers } from './markdown.js';
import { samplesOf, type RequestSample } from './request-samples.js';

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

interface ReferencePage {
  readonly name: string;
  readonly title: string;
  readonly html: string;
  readonly markdown: string;
}

/** Returns the title, version and description of a document of `describeApi`. */
export function overviewOf(openApi: JsonSchema): {
  readonly title: string;
  readonly version: string;
  readonly text: string;
  readonly html: string;
} {
  const { title, version, description } = (openApi as unknown as Document).info;
  return { title, version, text: description, html: paragraphs(description) };
}

/** Returns a page for each operation of a document of `describeApi`, in the document's order. */
export function referencePages(openApi: JsonSchema): readonly ReferencePage[] {
  const document = openApi as unknown as Document;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const title = `${method.toUpperCase()} ${path}`;
      return {
        name: `api-${operation.operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
        title,
        html: operationHtml(title, operation, document, samplesFor(method.toUpperCase(), path, operation)),
        markdown: operationMarkdown(title, operation, document, samplesFor(method.toUpperCase(), path, operation)),
      };
    }),
  );
}

/** Fills the path with examples, or with the names of its parts in capitals. */
function samplesFor(method: string, path: string, operation: OperationObject): readonly RequestSample[] {
  const { parameters = [], requestBody } = operation;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const examples = parameters.find((each) => each.in === 'path' && each.name === name)?.schema['examples'];
    return String((examples as readonly (string | number)[] | undefined)?.[0] ?? name.toUpperCase());
  });
  const [body] = Object.values(requestBody?.content['application/json']?.examples ?? {});
  return samplesOf({
    method,
    path: filled,
    body: body === undefined ? undefined : JSON.stringify(body.value),
    key: parameters.some(({ name }) => name === 'Idempotency-Key') ? 'payout-1' : undefined,
  });
}

/** One radio button for each language, then the programs in the same order. The style shows the chosen one. */
function samplesHtml(samples: readonly RequestSample[]): string {
  const choices = samples.map(
    ({ language }, index) =>
      `<input type="radio" name="language" id="language-${index.toString()}" value="${escape(language)}"${index === 0 ? ' checked' : ''}>` +
      `<label for="language-${index.toString()}">${escape(language)}</label>`,
  );
  const programs = samples.map(({ code }) => `<pre tabindex="0">${escape(code)}</pre>`);
  return `<fieldset class="tabs"><legend>Language</legend>${choices.join('')}${programs.join('')}</fieldset>`;
}

function operationHtml(
  title: string,
  operation: OperationObject,
  document: Document,
  samples: readonly RequestSample[],
): string {
  const parameters = (operation.parameters ?? []).map(({ name, in: place, required, description, schema }) =>
    row([
      `<code>${escape(name)}</code>`,
      escape(place),
      required === true ? 'required' : 'optional',
      `${escape(keepNumbers(description))}${limits(schema)}`,
    ]),
  );
  return [
    `<h1 id="${escape(operation.operationId)}"><code>${escape(title)}</code></h1>`,
    `<p><b>${escape(operation.summary)}</b></p>`,
    paragraphs(operation.description),
    parameters.length === 0
      ? ''
      : `<h2 id="parameters">Parameters</h2>${table(['name', 'in', 'presence', 'meaning'], parameters)}`,
    operation.requestBody === undefined
      ? ''
      : `<h2 id="request">Request</h2>${contentHtml(operation.requestBody.content, document, IN_REQUESTS)}`,
    `<h2 id="send">Send it</h2>${samplesHtml(samples)}`,
    '<h2 id="answers">Answers</h2>',
    ...Object.entries(operation.responses).map(([status, answer]) =>
      responseHtml(status, '$ref' in answer ? sharedResponse(answer, document) : answer, document),
    ),
  ].join('\n');
}

function operationMarkdown(
  title: string,
  operation: OperationObject,
  document: Document,
  samples: readonly RequestSample[],
): string {
  const parameters = (operation.parameters ?? []).map(
    ({ name, in: place, required, description }) =>
      `- \`${name}\` (${place}, ${required === true ? 'required' : 'optional'}): ${description}\n`,
  );
  const bodies = (content: Content, presence: Presence): string =>
    Object.values(content)
      .map(({ schema }) => membersMarkdown(schema, document, presence, ''))
      .join('');
  const answers = Object.entries(operation.responses).map(([status, answer]) => {
    const { description, content = {} } = '$ref' in answer ? sharedResponse(answer, document) : answer;
    return `### ${status}\n\n${description}\n\n${Number(status) >= 400 ? '' : bodies(content, IN_ANSWERS)}`;
  });
  return [
    `# ${title}\n\n${operation.summary}\n\n${operation.description}\n`,
    parameters.length === 0 ? '' : `## Parameters\n\n${parameters.join('')}`,
    operation.requestBody === undefined ? '' : `## Request\n\n${bodies(operation.requestBody.content, IN_REQUESTS)}`,
    `## Send it\n\n${samples.map(({ language, code }) => `${language}:\n\n\`\`\`\n${code}\n\`\`\`\n`).join('\n')}`,
    `## Answers\n\n${answers.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function membersMarkdown(schema: SchemaObject, document: Document, presence: Presence, indent: string): string {
  const { properties, required } = resolved(schema, document);
  return Object.entries(properties ?? {})
    .map(([name, member]) => {
      const when = presence[required?.includes(name) === true ? 0 : 1];
      const inner = member.items ?? (member.properties === undefined ? undefined : member);
      const below =
        inner === undefined || inner.$ref !== undefined
          ? ''
          : membersMarkdown(inner, document, presence, `${indent}  `);
      return `${indent}- \`${name}\` (${typeName(member)}, ${when}): ${member.description ?? ''}\n${below}`;
    })
    .join('');
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
      `${escape(keepNumbers(member.description ?? ''))}${limits(member)}${nested(member, document, presence)}`,
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
  return `<table class="members"><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>${rows.join('')}</table>`;
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

/** Blank lines separate paragraphs, and backticks mark code. Nothing else is markup. */
function paragraphs(text: string): string {
  return text
    .split(/\n\n+/)
    .map((part) => `<p>${escape(keepNumbers(part)).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('');
}
