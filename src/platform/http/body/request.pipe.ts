/** The global pipe: builds a request of its class from the plain values, and reports every fault. */
import { ValidationPipe } from '@nestjs/common';
import * as transformerPackage from 'class-transformer';
import * as validatorPackage from 'class-validator';
import type { ValidationError, ValidatorOptions } from 'class-validator';
import { cutText } from '../../support/foreign-text.js';
import { ApiError, type FieldFault } from '../../../domain/errors.js';
import { GIVEN_ONCE, LIMITS, type RequestLimits } from './member-rules.js';
import { Query } from './page-query.js';
import { sentName } from './plain-values.js';

export class RequestPipe extends ValidationPipe {
  constructor(private readonly limits: RequestLimits) {
    super({
      // Nest otherwise loads these by name, which fails in a bundled program.
      validatorPackage,
      transformerPackage,
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      validationError: { target: true },
      exceptionFactory: refusal,
    });
  }

  protected override validate(request: object, options?: ValidatorOptions) {
    LIMITS.set(request, this.limits);
    return super.validate(request, options);
  }
}

const UNKNOWN = 'whitelistValidation';
const SHOWN_NAME_LENGTH = 64;

/**
 * Returns 400 INVALID_REQUEST. Faults of a body follow the order sent, then missing members; faults of a query begin
 * with wrong names.
 */
function refusal(errors: readonly ValidationError[]): ApiError {
  const request = errors[0]?.target ?? {};
  const isQuery = request instanceof Query;
  const names = Object.keys(request);
  const places = new Map(names.map((name, place) => [name, place]));
  const placeOf = (name: string, constraint: string) =>
    (isQuery && constraint !== UNKNOWN && constraint !== GIVEN_ONCE ? undefined : places.get(name)) ?? names.length;
  const faultOf = (name: string, constraint: string, msg: string): FieldFault => {
    if (constraint !== UNKNOWN) return { field: name, msg };
    const field = cutText(sentName(name), SHOWN_NAME_LENGTH);
    return { field, msg: `is not a ${isQuery ? 'parameter' : 'member'} of this request` };
  };
  const details = errors
    .flatMap(({ property: name, constraints }) =>
      Object.entries(constraints ?? {}).map(([constraint, msg]) => ({
        place: placeOf(name, constraint),
        fault: faultOf(name, constraint, msg),
      })),
    )
    .sort((one, other) => one.place - other.place)
    .map(({ fault }) => fault);
  const others = isQuery ? 0 : details.length - 1;
  const more = others > 0 ? `, and ${others.toString()} more; see details` : '';
  return new ApiError('INVALID_REQUEST', `${details[0]?.field ?? ''} ${details[0]?.msg ?? ''}${more}.`, { details });
}
