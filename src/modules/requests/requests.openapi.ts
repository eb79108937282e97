/** OpenAPI description of GET /v1/requests. */
import {
  always,
  answerSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
} from '../../platform/http/openapi/openapi.js';
import type { PageBody } from '../../domain/page.js';
import { RequestListQuery, type RefusedRequestBody } from './requests.dto.js';

const REFUSED: RefusedRequestBody = {
  at: '2026-11-20T12:00:00.000Z',
  request_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
  method: 'GET',
  path: '/v1/orders/a%2Fb',
  status: 401,
  error: 'INVALID_SIGNATURE',
  reason: 'The signature is of the path as it is encoded: sign it percent-decoded.',
  source_address: '203.0.113.7',
};

const REFUSED_ANSWER = answerSchema<RefusedRequestBody>({
  at: always(timeSchema('Time of the refusal.')),
  request_id: always(textSchema('The X-Request-Id of the request.', REFUSED.request_id)),
  method: always(textSchema('HTTP method.', 'GET')),
  path: always(textSchema('Path as sent, without the query.', REFUSED.path)),
  status: always(integerSchema('HTTP status of the answer: 400 to 499.', 401)),
  error: always(textSchema('Error code of the answer.', 'INVALID_SIGNATURE')),
  reason: always(textSchema('Explanation of the fault, possibly more detailed than the answer.', REFUSED.reason)),
  source_address: always(textSchema('IP address of the sender.', REFUSED.source_address)),
  key: sometimes(textSchema('Name of the API key that signed it, if one did.', 'shop')),
  omitted: sometimes(
    integerSchema('Number of requests refused since the previous entry and not kept, during a flood.', 12),
  ),
});

const PAGE_ANSWER = answerSchema<PageBody<RefusedRequestBody>>({
  items: always({ type: 'array', items: REFUSED_ANSWER }),
  next_cursor: sometimes(textSchema('The cursor of the next page. Absent on the last page.', 'cjQ3MTE')),
});

export function describeRequestList(): Operation {
  return {
    operationId: 'listRefusedRequests',
    tag: 'Requests',
    summary: 'List refused requests, newest first',
    description:
      'Requests for the project that were refused in the last seven days, with their reasons. They appear after a second or two. In a flood, some are only counted.',
    query: RequestListQuery,
    answers: {
      200: {
        description: 'A page.',
        schemaName: 'RefusedRequestPage',
        schema: PAGE_ANSWER,
        examples: { page: { items: [REFUSED] } },
      },
    },
    errors: [],
  };
}
