/** Merges the answers and errors of one operation by status. If both use a status, either body may be returned. */
import { isDeepStrictEqual } from 'node:util';
import { invariant } from '../../../domain/errors.js';
import type { JsonSchema } from '../body/member-rules.js';
import type { ErrorResponse } from './openapi-error-responses.js';

type Answers = readonly (readonly [status: string, response: JsonSchema])[];

/**
 * Returns the responses of one operation. Adds each error to `shared`, the document's `components.responses`, and
 * refers to it there. A status of both an answer and an error is described in place.
 */
export function responsesOf(
  answers: Answers,
  errors: readonly ErrorResponse[],
  shared: Record<string, JsonSchema>,
): Record<string, JsonSchema> {
  const byStatus = new Map(answers);
  for (const { status, name, response } of errors) {
    const answer = byStatus.get(status);
    byStatus.set(status, answer === undefined ? share(name, response, shared) : either(answer, response));
  }
  return Object.fromEntries(byStatus);
}

function share(name: string, response: JsonSchema, shared: Record<string, JsonSchema>): JsonSchema {
  const known = (shared[name] ??= response);
  invariant(isDeepStrictEqual(known, response), `the responses named ${name} are equal`);
  return { $ref: `#/components/responses/${name}` };
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
