/** Merges the answers and errors of one operation by status. If both use a status, either body may be returned. */
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
    // A header of both is required only if the error requires it.
    headers: { ...(answer['headers'] as JsonSchema), ...(error['headers'] as JsonSchema) },
    content: {
      'application/json': {
        schema: { oneOf: [ours.schema, theirs.schema] },
        examples: { ...ours.examples, ...theirs.examples },
      },
    },
  };
}
