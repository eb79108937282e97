// Validates a value against a schema of the OpenAPI document.

type Json = ReturnType<typeof JSON.parse>;

/** Returns the errors of a value; empty when it is valid. Supports the JSON Schema keywords that the document uses. */
export function schemaFaults(document: Json, value: Json, schema: Json, at = 'value'): string[] {
  const faults = (inner: Json, by: Json, place: string): string[] => schemaFaults(document, inner, by, place);
  const isOfForm = (form: Json): boolean => isOf(document, value, form);
  if (schema.$ref !== undefined) return faults(value, document.components.schemas[schema.$ref.split('/').at(-1)], at);
  const wrong = (what: string) => [`${at} ${what}`];
  if (schema.type === undefined && schema.oneOf !== undefined) {
    const ways = schema.oneOf.map((one: Json) => faults(value, one, at));
    const right = ways.filter((way: string[]) => way.length === 0);
    return right.length === 1 ? [] : (ways[0] ?? []).concat(wrong('is not exactly one of its kinds'));
  }
  if (schema.const !== undefined && value !== schema.const) return wrong('is not the constant');
  if (schema.enum !== undefined && !schema.enum.includes(value)) return wrong('is not of the enum');
  if (Array.isArray(schema.type)) {
    const ways = schema.type.map((type: string) => faults(value, { ...schema, type }, at));
    return ways.find((way: string[]) => way.length === 0) ?? ways[0];
  }
  if (schema.oneOf !== undefined && schema.oneOf.filter(isOfForm).length !== 1) {
    return wrong('has not exactly one form');
  }
  switch (schema.type) {
    case 'null':
      return value === null ? [] : wrong('is not null');
    case 'object':
      if (typeof value !== 'object' || value === null) return wrong('is no object');
      return [
        ...(schema.required ?? [])
          .filter((name: string) => !(name in value))
          .map((name: string) => `${at}.${name} is missing`),
        ...Object.entries(value).flatMap(([name, member]) =>
          schema.properties?.[name] !== undefined
            ? faults(member, schema.properties[name], `${at}.${name}`)
            : typeof schema.additionalProperties !== 'object'
              ? [`${at}.${name} is not described`]
              : [
                  ...faults(name, { type: 'string', ...schema.propertyNames }, `the name ${at}.${name}`),
                  ...faults(member, schema.additionalProperties, `${at}.${name}`),
                ],
        ),
        ...(Object.keys(value).length > (schema.maxProperties ?? Infinity) ? wrong('has too many members') : []),
      ];
    case 'array':
      if (!Array.isArray(value)) return wrong('is no list');
      return value.flatMap((item, index) => faults(item, schema.items, `${at}[${index.toString()}]`));
    case 'integer':
      if (!Number.isSafeInteger(value)) return wrong('is no integer');
      return value < (schema.minimum ?? value) || value > (schema.maximum ?? value) ? wrong('is out of bounds') : [];
    case 'boolean':
      return typeof value === 'boolean' ? [] : wrong('is no boolean');
    case 'string':
      if (typeof value !== 'string') return wrong('is no string');
      if (value.length < (schema.minLength ?? 0) || value.length > (schema.maxLength ?? Infinity)) {
        return wrong('has a wrong length');
      }
      return schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)
        ? wrong('does not match')
        : [];
    default:
      return wrong('has an unknown type');
  }
}

function isOf(document: Json, value: Json, { required = [], properties = {}, allOf = [], not }: Json): boolean {
  return (
    required.every((name: string) => name in value) &&
    Object.entries(properties).every(
      ([name, schema]) => !(name in value) || schemaFaults(document, value[name], schema).length === 0,
    ) &&
    allOf.every((form: Json) => isOf(document, value, form)) &&
    (not === undefined || !isOf(document, value, not))
  );
}
