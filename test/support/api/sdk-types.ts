// Generates the types of packages/sdk from the OpenAPI document.

export const TYPES_OF_SDK = 'packages/sdk/src/api-types.ts';

export interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** The part of JSON Schema that the document uses. */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  readonly description?: string;
}

/** Keywords that form the type, and keywords that no type can express. Any other keyword is an error. */
const KNOWN = new Set([
  ...['$ref', 'type', 'enum', 'const', 'items', 'properties', 'required', 'oneOf', 'description'],
  ...['additionalProperties', 'title', 'default', 'examples', 'format', 'pattern'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'maxItems', 'maxProperties', 'propertyNames'],
]);
const SCALARS: Readonly<Record<string, string>> = {
  ...{ string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' },
};
const WIDTH = 116;
const UNION_WIDTH = 60;

const HEAD =
  '// Made of openapi.json, which test/unit/sdk/sdk.test.ts compares. Integers are whole numbers up to 2^53 - 1; times are ISO 8601 in UTC.';

/** Returns the source of the types. Throws for a schema that no rule covers. */
export function typesOf({ components }: Document): string {
  const types = Object.entries(components.schemas).map(([name, schema]) => {
    const type = typeOf(schema, '');
    const isInterface = type.startsWith('{') && schema.oneOf === undefined;
    return `${commentOf(schema, '')}export ${isInterface ? `interface ${name} ${type}` : `type ${name} =${spaced(type)};`}\n`;
  });
  return `${HEAD}\n\n${types.join('\n')}`;
}

function typeOf(schema: Schema, indent: string): string {
  const strange = Object.keys(schema).filter((key) => !KNOWN.has(key));
  if (strange.length > 0) throw new Error(`a schema has ${strange.join(', ')}, which has no rule yet`);
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.const !== undefined) return literal(schema.const);
  return [schema.type ?? []]
    .flat()
    .map((kind) => oneTypeOf(kind, schema, indent))
    .join(' | ');
}

function oneTypeOf(kind: string, schema: Schema, indent: string): string {
  if (kind === 'object') return objectOf(schema, indent);
  if (kind === 'array') return `readonly ${inArray(typeOf(schema.items ?? {}, indent))}[]`;
  if (kind === 'string' && schema.enum !== undefined) return unionOf(schema.enum, indent);
  const scalar = SCALARS[kind];
  if (scalar === undefined) throw new Error(`a schema has the type ${kind}`);
  return scalar;
}

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value));
/** A union that starts on a new line needs no space before it. */
const spaced = (type: string): string => (type.startsWith('\n') ? type : ` ${type}`);
const inArray = (type: string): string => (/^(?:[^{]* \||\n)/.test(type) ? `(${type})` : type);

function unionOf(values: readonly string[], indent: string): string {
  const line = values.map(literal).join(' | ');
  return line.length < UNION_WIDTH ? line : values.map((value) => `\n${indent}  | ${literal(value)}`).join('');
}

/** With several forms, intersects the members with the required members of each form. */
function objectOf(schema: Schema, indent: string): string {
  const members = membersOf(schema, indent);
  if (schema.oneOf === undefined) return members;
  const forms = schema.oneOf.map(
    ({ required }) => `{ ${required.map((name) => `readonly ${name}: string`).join('; ')} }`,
  );
  return `${members} & (${forms.join(' | ')})`;
}

function membersOf({ properties = {}, required = [], additionalProperties: others }: Schema, indent: string): string {
  if (typeof others === 'object') return `Readonly<Record<string, ${typeOf(others, indent)}>>`;
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const isRequired = required.includes(name);
    const type = `${typeOf(schema, inner)}${isRequired ? '' : ' | undefined'}`;
    return `${commentOf(schema, inner)}${inner}readonly ${name}${isRequired ? '' : '?'}:${spaced(type)};\n`;
  });
  return lines.length === 0 ? 'Readonly<Record<string, never>>' : `{\n${lines.join('')}${indent}}`;
}

function commentOf({ description }: Schema, indent: string): string {
  if (description === undefined) return '';
  const lines: string[] = [];
  for (const word of description.replaceAll('*/', '* /').split(/\s+/)) {
    const longer = lines.length === 0 ? undefined : `${lines.at(-1)!} ${word}`;
    if (longer !== undefined && longer.length < WIDTH - indent.length - 3) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  if (lines.length === 1) return `${indent}/** ${lines[0]!} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
