import { ORDER_STATUSES } from '../../../../../src/domain/order-state.js';
import type { Query } from '../../api/client.js';
import { dayAfter } from '../../format/time.js';
import { Filter, isFilteredBy, useFiltered, type FilterField } from '../../parts/filter.js';
import { COMMON } from '../../text/common.js';
import { ORDERS } from '../../text/orders.js';
import { STATUS } from '../../text/status.js';

const text = ORDERS.filter;
const NAMES = ['state', 'status', 'receiver', 'reference', 'from', 'to'] as const;
const FIELDS: readonly FilterField<(typeof NAMES)[number]>[] = [
  {
    name: 'state',
    label: text.state,
    choices: [
      ['running', text.running],
      ['ended', text.ended],
      ['attention', ORDERS.attention],
    ],
  },
  { name: 'status', label: text.status, choices: ORDER_STATUSES.map((known) => [known, STATUS.order[known]]) },
  { name: 'receiver', label: text.receiver, lengthMax: 34, isWide: true },
  { name: 'reference', label: text.reference, lengthMax: 64 },
  { name: 'from', label: COMMON.filter.from, isDay: true },
  { name: 'to', label: COMMON.filter.to, isDay: true },
];

interface OrderFilterQuery {
  /** The query in the form that the console process accepts. */
  readonly query: Query;
  readonly isFiltered: boolean;
}

export function useOrderFilter(): OrderFilterQuery {
  const given = useFiltered(NAMES);
  // `to` is exclusive in the API; the user means the whole last day.
  const query = { ...given, to: given.to === '' ? '' : dayAfter(given.to) };
  return { query, isFiltered: isFilteredBy(given) };
}

export function OrderFilter() {
  return <Filter legend={text.legend} fields={FIELDS} />;
}
