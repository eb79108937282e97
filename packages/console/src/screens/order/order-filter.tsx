/** Filters of the list of orders: in the address of the page, so that a link shows the same. */
import { Button, TextInput } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useSearchParams } from 'wouter';
import { ORDER_STATUSES } from '../../../../../src/domain/order-state.js';
import type { Query } from '../../api/client.js';
import { dayAfter } from '../../format/time.js';
import { ORDERS } from '../../text/orders.js';
import { STATUS } from '../../text/status.js';

const NARROW = '(max-width: 767px)';
const NAMES = ['status', 'receiver', 'reference', 'from', 'to'] as const;
type Typed = Readonly<Record<(typeof NAMES)[number], string>>;

interface OrderFilterQuery {
  /** As the console process takes it. */
  readonly query: Query;
  readonly isFiltered: boolean;
}

export function useOrderFilter(): OrderFilterQuery {
  const typed = useTyped();
  // The last day is meant whole.
  const query = { ...typed, to: typed.to === '' ? '' : dayAfter(typed.to) };
  return { query, isFiltered: Object.values(typed).some((value) => value !== '') };
}

function useTyped(): Typed {
  const [search] = useSearchParams();
  return Object.fromEntries(NAMES.map((name) => [name, search.get(name) ?? ''])) as Typed;
}

export function OrderFilter() {
  const given = useTyped();
  // The address may be changed by a search or a step back.
  return <Fields key={Object.values(given).join(' ')} given={given} />;
}

function Fields({ given }: { readonly given: Typed }) {
  const text = ORDERS.filter;
  const [, setSearch] = useSearchParams();
  const [typed, setTyped] = useState(given);
  const set = (name: keyof Typed) => (event: { readonly currentTarget: { readonly value: string } }) =>
    setTyped({ ...typed, [name]: event.currentTarget.value });
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    const named = Object.entries(typed).map(([name, value]) => [name, value.trim()] as const);
    setSearch(Object.fromEntries(named.filter(([, value]) => value !== '')));
  };
  const isFiltered = Object.values(given).some((value) => value !== '');
  // Folded where it would fill the screen; what is filtered by is always seen.
  const [isOpen] = useState(() => isFiltered || !matchMedia(NARROW).matches);
  return (
    <details className="filter-fold" open={isOpen}>
      <summary>{text.legend}</summary>
      <form className="filter" onSubmit={apply} aria-label={text.legend}>
        <label className="filter-field">
          <span>{text.status}</span>
          <select value={typed.status} onChange={set('status')}>
            <option value="">{text.any}</option>
            {ORDER_STATUSES.map((known) => (
              <option key={known} value={known}>
                {STATUS.order[known]}
              </option>
            ))}
          </select>
        </label>
        <TextInput
          label={text.receiver}
          className="filter-wide"
          autoComplete="off"
          spellCheck={false}
          maxLength={34}
          value={typed.receiver}
          onChange={set('receiver')}
        />
        <TextInput
          label={text.reference}
          className="filter-short"
          autoComplete="off"
          spellCheck={false}
          maxLength={64}
          value={typed.reference}
          onChange={set('reference')}
        />
        <TextInput type="date" className="filter-short" label={text.from} value={typed.from} onChange={set('from')} />
        <TextInput type="date" className="filter-short" label={text.to} value={typed.to} onChange={set('to')} />
        <Button type="submit" variant="default">
          {text.apply}
        </Button>
        {isFiltered && (
          <button type="button" className="link-button" onClick={() => setSearch({})}>
            {text.clear}
          </button>
        )}
      </form>
    </details>
  );
}
