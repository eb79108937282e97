/** The answers and the errors of one operation by status; where both have one, either body may come. */
import type { JsonSchema } from '../body/member-rules.js';

type Responses = readonly (readonly [status: string, response: JsonSchema])[];

export function responsesOf(answers: Responses, errors: Responses): Record<string, JsonSchema> {
  const byStatus = new Map(answers);
  for (const [status, error] of errors) {
    const answer = byStatus.get(status);
    byStatus.set(status, answer === undefined ? error : either(answer, error));
  }
  return Object.fromEntries(byStatus);
}

interface Json {
  readonly schema: JsonSchema;
  readonly examples: JsonSchema;
}
const jsonOf = (response: JsonSchema): Json =>
  (response['content'] as { readonly 'application/json': Json })['application/json'];

function either(answer: JsonSchema, error: JsonSchema): JsonSchema {
  const [ours, theirs] = [jsonOf(answer), jsonOf(error)];
  return {
    description: `${String(answer['description'])}\n\n${String(error['description'])}`,
    // What both carry is promised only as far as the error promises it.
    headers: { ...(answer['headers'] as JsonSchema), ...(error['headers'] as JsonSchema) },
    content: {
      'application/json': {
        schema: { oneOf: [ours.schema, theirs.schema] },
        examples: { ...ours.examples, ...theirs.examples },
      },
    },
  };
}
