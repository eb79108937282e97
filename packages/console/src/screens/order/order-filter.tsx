/** Filters of the list of orders: in the address of the page, so that a link shows the same. */
import { Button, TextInput } from '@mantine/core';
import { useEffect, useState, type SubmitEvent } from 'react';
import { useSearchParams } from 'wouter';
import { ORDER_STATUSES } from '../../../../../src/domain/order-state.js';
import { ORDERS } from '../../text/orders.js';
import { STATUS } from '../../text/status.js';

export function OrderFilter() {
  const text = ORDERS.filter;
  const [search, setSearch] = useSearchParams();
  const [status, setStatus] = useState(search.get('status') ?? '');
  const [receiver, setReceiver] = useState(search.get('receiver') ?? '');
  // The address may be changed by a search or a step back.
  useEffect(() => {
    setStatus(search.get('status') ?? '');
    setReceiver(search.get('receiver') ?? '');
  }, [search]);
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    setSearch(
      Object.fromEntries(Object.entries({ status, receiver: receiver.trim() }).filter(([, value]) => value !== '')),
    );
  };
  const clear = () => {
    setStatus('');
    setReceiver('');
    setSearch({});
  };
  return (
    <form className="filter" onSubmit={apply} aria-label={text.legend}>
      <label className="filter-field">
        <span>{text.status}</span>
        <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
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
        value={receiver}
        onChange={(event) => setReceiver(event.currentTarget.value)}
      />
      <Button type="submit" variant="default">
        {text.apply}
      </Button>
      {search.size > 0 && (
        <button type="button" className="link-button" onClick={clear}>
          {text.clear}
        </button>
      )}
    </form>
  );
}
