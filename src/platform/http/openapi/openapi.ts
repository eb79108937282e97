/**
 * Builds the OpenAPI 3.1 document from the controllers. Every handler declares its request and answers beside its code.
 * A handler without a declaration fails the build.
 */
import { SetMetadata, type Type } from '@nestjs/common';
import { invariant, type ErrorCode } from '../../../domain/errors.js';
import type { Query } from '../body/page-query.js';
import { membersOf, type JsonSchema, type RequestLimits } from '../body/member-rules.js';
import type { Route } from '../pipeline/routes.js';
import { content, headerSchema, KEY_HEADER, rateHeaders, REQUEST_ID } from './answer-headers.js';
import { ERROR_SCHEMA, errorResponses } from './openapi-error-responses.js';
import { responsesOf } from './openapi-responses.js';

export interface Parameter {
  readonly name: string;
  readonly in: 'header' | 'path' | 'query';
  readonly required?: true;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** An answer without a body. */
interface EmptyAnswer {
  readonly description: string;
}

interface Answer extends EmptyAnswer {
  /** The name of the schema in `components`. */
  readonly schemaName: string;
  readonly schema: JsonSchema;
  /** Schemas that it refers to and that no answer has, by name. */
  readonly parts?: Readonly<Record<string, JsonSchema>>;
  readonly examples: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  /** Defaults to application/json. */
  readonly mediaType?: string;
}

const TAGS = {
  Quotes: 'Prices of rentals, held for a while.',
  Simulation: 'The energy that a contract call needs.',
  Orders: 'Rentals: bought, read, listed.',
  Events: 'Every event of the project, in order and complete.',
  Accounts: 'Activation of accounts, the balance and its ledger.',
  Deposits: 'Credits bought on chain: addresses and payments.',
  'Auto-delegation': 'Addresses that are kept supplied with energy.',
  Webhooks: 'URLs that receive events, and each delivery.',
  Requests: 'Refused requests of a project with their reasons.',
  'Client family': 'Quotes, orders and the balance in the form that published clients use.',
};

/** The request and answers of one handler. */
export interface Operation {
  readonly operationId: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly query?: Type<Query>;
  readonly request?: {
    readonly schemaName: string;
    readonly type: Type;
    /** If a body has several forms, each request uses exactly one of them. */
    readonly forms?: readonly JsonSchema[];
    readonly examples: Readonly<Record<string, unknown>>;
  };
  readonly answers: Readonly<Record<number, Answer | EmptyAnswer>>;
  /** The codes of this endpoint alone. The pipeline's codes are added to every signed route. */
  readonly errors: readonly ErrorCode[];
}

const OPERATION = 'http:operation';

/** Declares the request and answers of a handler. */
export const Describe = (describe: () => Operation) => SetMetadata(OPERATION, describe);

export interface Always {
  readonly presence: 'always';
  readonly schema: JsonSchema;
}
export interface Sometimes {
  readonly presence: 'sometimes';
  readonly schema: JsonSchema;
}

/** A member that every answer has. */
export const always = (schema: JsonSchema): Always => ({ presence: 'always', schema });
/** A member that is absent, never null, unless it applies. Its description states the condition. */
export const sometimes = (schema: JsonSchema): Sometimes => ({ presence: 'sometimes', schema });

/** A description for every member of T, with optional ones marked. The compiler ensures that none is missing. */
export type Members<T> = {
  readonly [K in keyof T]-?: object extends Pick<T, K> ? Sometimes : Always;
};

/** Returns the schema of an answer of type T. */
export function answerSchema<T>(members: Members<T>): JsonSchema {
  const entries = Object.entries(members as Readonly<Record<string, Always | Sometimes>>);
  return {
    type: 'object',
    required: entries.filter(([, member]) => member.presence === 'always').map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, member]) => [name, member.schema])),
  };
}

export const integerSchema = (description: string, example: number): JsonSchema => ({
  type: 'integer',
  format: 'int64',
  description,
  examples: [example],
});
export const textSchema = (description: string, example: string, extra: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
  ...extra,
});
export const decimalSchema = (description: string, digits: number, example: string): JsonSchema =>
  textSchema(description, example, { pattern: `^-?[0-9]+\\.[0-9]{${digits.toString()}}$` });
export const timeSchema = (description: string): JsonSchema =>
  textSchema(description, '2026-11-20T12:00:00.000Z', { format: 'date-time' });
export const addressSchema = (description: string): JsonSchema =>
  textSchema(description, 'TF7RPRmabfQBcX92MHUPb9HSNcHNMwjyrF', { pattern: '^T[1-9A-HJ-NP-Za-km-z]{33}$' });

export const flagSchema = (description: string): JsonSchema => ({ type: 'boolean', description });

const givenText = (name: string): JsonSchema => ({ required: [name], properties: { [name]: { type: 'string' } } });

/** One form of a body: the text member `sent` is present, and all of `absent` are missing. */
export const formSchema = (title: string, sent: string, absent: readonly string[] = []): JsonSchema => ({
  title,
  ...givenText(sent),
  ...(absent.length > 0 && { allOf: absent.map((name) => ({ not: givenText(name) })) }),
});

/** Descriptions that several operations refer to, by name. */
interface Components {
  readonly schemas: Record<string, JsonSchema>;
  readonly responses: Record<string, JsonSchema>;
}

const INTRODUCTION = `Rents TRON energy to a wallet address for a stated time, so that its transfers burn no TRX.

Every request names its project, a UUID, in \`Merchant\`, and is signed with an API key of the project.
\`X-CC-Signature\` is \`v1=\` and the HMAC-SHA256 over nine lines: \`CC-HMAC-SHA256-REQ-V1\`, \`X-CC-Timestamp\`,
\`X-CC-Nonce\`, the method, the decoded path, the raw query, \`Merchant\`, \`Idempotency-Key\`, and the SHA-256 of the
body in hex. Every operation accepts this signature.

Some operations also accept \`Signature\`: \`hex(md5(base64(canonical) + api_key))\`. \`canonical\` is the JSON body with
sorted keys and no insignificant whitespace, sent exactly as signed. Without a body, it is the empty string.

\`GET /v1/requests\` gives the reason for every request that was refused, and names usual mistakes in a signature.

Send integers as integers. For optional members, \`null\` means absent. Unknown members are refused. Amounts in sun,
energy and credits are integers. 10 000 000 credits are one US dollar. Every answer has \`X-Request-Id\`; no answer may
be cached, framed or sniffed.`;

/**
 * Returns the whole document, deterministic for one configuration and price table. Throws InvariantError for a route
 * without a declaration.
 */
export function describeApi(routes: readonly Route[], limits: RequestLimits, version: string): JsonSchema {
  const components: Components = { schemas: { Error: ERROR_SCHEMA }, responses: {} };
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes.filter((candidate) => !candidate.isPublic)) {
    const describe = Reflect.getMetadata(OPERATION, route.handler) as (() => Operation) | undefined;
    invariant(describe !== undefined, `${route.method} ${route.pattern} is described`);
    const path = route.pattern.replace(/:([a-z_]+)/g, '{$1}');
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operationObject(describe(), route, limits, components),
    };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'TRON energy rental',
      version,
      description: INTRODUCTION,
      contact: { name: 'The operator of this service' },
      license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [BY_HMAC],
    paths: sorted(paths),
    components: {
      schemas: sorted(components.schemas),
      responses: sorted(components.responses),
      securitySchemes: {
        Merchant: inHeader('Merchant', 'The project UUID; not a secret.'),
        Signature: inHeader('Signature', '32 lower case hex digits: hex(md5(base64(canonical body) + api_key)).'),
        Timestamp: inHeader('X-CC-Timestamp', 'Whole Unix seconds, within 300 s of the service’s clock.'),
        Nonce: inHeader('X-CC-Nonce', '16 to 64 of A-Z a-z 0-9 _ -, new for every request.'),
        Hmac: inHeader(
          'X-CC-Signature',
          'v1= and 64 hex digits: HMAC-SHA256 under the API key over the nine lines above.',
        ),
      },
    },
  };
}

const BY_HMAC: JsonSchema = { Merchant: [], Timestamp: [], Nonce: [], Hmac: [] };
const BY_MD5: JsonSchema = { Merchant: [], Signature: [] };

const inHeader = (name: string, description: string): JsonSchema => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
});

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function operationObject(
  operation: Operation,
  route: Route,
  limits: RequestLimits,
  { schemas, responses }: Components,
): JsonSchema {
  const { request } = operation;
  const parameters = [...(operation.parameters ?? []), ...queryParameters(operation.query, limits)];
  const answers = Object.entries(operation.answers).map(([status, answer]) => {
    if ('schema' in answer) {
      schemas[answer.schemaName] = answeredSchema(answer.schema);
      for (const [name, part] of Object.entries(answer.parts ?? {})) schemas[name] = answeredSchema(part);
    }
    return [status, answerObject(answer, route)] as const;
  });
  if (request !== undefined) schemas[request.schemaName] = requestSchema(request, limits);
  return {
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    description: operation.description,
    ...(route.acceptsMd5 && { security: [BY_HMAC, BY_MD5] }),
    'x-scope': route.scope,
    ...(parameters.length > 0 && { parameters }),
    ...(request !== undefined && {
      requestBody: {
        required: !route.mayBeEmpty,
        content: { 'application/json': content(request.schemaName, request.examples) },
      },
    }),
    responses: responsesOf(answers, errorResponses(operation, route), responses),
  };
}

function requestSchema({ type, forms }: NonNullable<Operation['request']>, limits: RequestLimits): JsonSchema {
  const members = [...membersOf(type, limits)];
  const required = members.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return {
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(
      members.map(([name, { isNullable, schema }]) => [
        name,
        isNullable ? { ...schema, type: [schema['type'], 'null'] } : schema,
      ]),
    ),
    ...(forms !== undefined && { oneOf: forms }),
  };
}

function queryParameters(type: Type<Query> | undefined, limits: RequestLimits): Parameter[] {
  if (type === undefined) return [];
  return [...membersOf(type, limits)].map(([name, member]) => {
    const { description, ...schema } = member.schema;
    return { name, in: 'query', description: String(description), schema };
  });
}

const TEST_MEMBER = {
  test: { type: 'boolean', const: true, description: 'Present in answers to test projects only.' },
};

/** Returns the schema of an answer with the member that test projects receive. */
function answeredSchema(schema: JsonSchema): JsonSchema {
  const { properties } = schema;
  return properties === undefined ? schema : { ...schema, properties: { ...properties, ...TEST_MEMBER } };
}

function answerObject(answer: Answer | EmptyAnswer, route: Route): JsonSchema {
  const hasBody = 'schema' in answer;
  return {
    description: answer.description,
    headers: {
      ...REQUEST_ID,
      ...(route.budget !== undefined && rateHeaders(route.budget, true)),
      ...(route.isPurchase && {
        ...rateHeaders('testOrders', false),
        [KEY_HEADER]: headerSchema('The key of this purchase: yours, or the one that the service made.', true),
      }),
      ...(hasBody && answer.headers),
    },
    ...(hasBody && {
      content: { [answer.mediaType ?? 'application/json']: content(answer.schemaName, answer.examples) },
    }),
  };
}
