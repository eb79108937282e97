/**
 * The labels of an order: a reference to list it by, and metadata. They are not part of the request hash, and no
 * decision depends on them (docs/interface.md §9).
 */
import { ApiError } from '../../domain/errors.js';
import { IsText, IsTextRecord, textFault } from '../../platform/http/body/member-rules.js';
import type { Entries } from '../../platform/http/body/plain-values.js';
import type { Caller } from '../../platform/http/pipeline/request-context.js';

export type OrderMetadata = Readonly<Record<string, string>>;

export interface OrderLabels {
  readonly reference: string | undefined;
  /** Undefined if there are no entries. */
  readonly metadata: OrderMetadata | undefined;
}

export const NO_LABELS: OrderLabels = { reference: undefined, metadata: undefined };

const REFERENCE_MAX = 64;
const ENTRIES_MAX = 20;
const NAME_MAX = 40;
const VALUE_MAX = 200;

/** Visible text: letters, marks, digits, punctuation and symbols of any script, with spaces only between them. */
const PRINTABLE = '^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]+(?: +[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}]+)*$';
/** No control characters, no line ends, and no characters that change the direction of surrounding text. */
const WITHOUT_CONTROLS = '^[^\\p{Cc}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069]*$';

const matching = (pattern: string, fault: string) => {
  const rule = new RegExp(pattern, 'u');
  return { check: (value: string) => (rule.test(value) ? undefined : fault), openApi: { pattern } };
};
const IS_PRINTABLE = matching(PRINTABLE, 'must consist of printable characters, with spaces only between others');

const REFERENCE = { maxLength: REFERENCE_MAX, ...IS_PRINTABLE };

/** The query parameter that filters a list by reference. */
export const REFERENCE_PARAMETER = {
  name: 'isReference',
  faultOf: (value: unknown) => textFault(value, REFERENCE),
  openApi: () => ({
    type: 'string',
    minLength: 1,
    maxLength: REFERENCE_MAX,
    ...REFERENCE.openApi,
    description: 'Only orders of this reference.',
  }),
};

export const IsReference = () =>
  IsText({
    ...REFERENCE,
    description:
      'Your label, to list orders by. Printable characters, with spaces only between others. Several orders may share one. A repetition may send another; the first one stays.',
    openApi: { ...REFERENCE.openApi, examples: ['invoice 2026-1107'] },
  });

export const IsMetadata = () =>
  IsTextRecord({
    entriesMax: ENTRIES_MAX,
    name: { maxLength: NAME_MAX, ...IS_PRINTABLE },
    value: { maxLength: VALUE_MAX, ...matching(WITHOUT_CONTROLS, 'must not contain control characters') },
    description:
      'Your named texts, shown with the order. Names have printable characters; values have no control characters. Only in requests signed by HMAC. A repetition may send others; the first ones stay.',
    example: { customer: '4711', batch: 'night 2026-11-20' },
  });

/** The members of a request that are labels. */
export interface Labelled {
  readonly reference?: string;
  readonly metadata?: Entries;
}

/**
 * Returns the labels of a request. Throws HMAC_REQUIRED for metadata in a request signed by MD5. Our choice: MD5 signs
 * a canonical form, which libraries write differently, most of all for nested objects; HMAC signs the bytes.
 */
export function labelsOf({ nonce }: Caller, { reference, metadata }: Labelled): OrderLabels {
  if (metadata !== undefined && nonce === undefined) {
    throw new ApiError('HMAC_REQUIRED', 'metadata requires an HMAC signature. Send X-CC-Signature, or omit metadata.');
  }
  const entries = (metadata?.entries ?? []) as readonly (readonly [string, string])[];
  return { reference, metadata: entries.length === 0 ? undefined : Object.fromEntries(entries) };
}
