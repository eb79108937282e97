/** OpenAPI description of GET /v1/requests. */
import {
  always,
  answerSchema,
  integerSchema,
  sometimes,
  textSchema,
  timeSchema,
  type Operation,
} from '../http/openapi/openapi.js';
import { RequestListQuery, type RefusedPageBody, type RefusedRequestBody } from './requests.dto.js';

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
  at: always(timeSchema('When it was refused.')),
  request_id: always(textSchema('Its X-Request-Id.', REFUSED.request_id)),
  method: always(textSchema('Its method.', 'GET')),
  path: always(textSchema('Its path as it was sent, without the query.', REFUSED.path)),
  status: always(integerSchema('400 or 401.', 401)),
  error: always(textSchema('The code that it was answered.', 'INVALID_SIGNATURE')),
  reason: always(textSchema('The fault, for people; it may say more than the answer did.', REFUSED.reason)),
  source_address: always(textSchema('Where it came from.', REFUSED.source_address)),
  key: sometimes(textSchema('The name of the API key that signed it, where one did.', 'shop')),
  omitted: sometimes(
    integerSchema('Requests that were refused since the one before and are not kept, in a flood of them.', 12),
  ),
});

const PAGE_ANSWER = answerSchema<RefusedPageBody>({
  items: always({ type: 'array', items: REFUSED_ANSWER }),
  next_cursor: sometimes(textSchema('Pass it as cursor for the next page; absent on the last.', 'cjQ3MTE')),
});

export function describeRequestList(): Operation {
  return {
    operationId: 'listRefusedRequests',
    tag: 'Requests',
    summary: 'List refused requests, newest first',
    description:
      'Requests in the name of the project that were answered 400 or 401 in the last seven days, with the reason of each. ' +
      'They appear a second or two later; in a flood some are only counted.',
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
