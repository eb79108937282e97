/**
 * The key of an open form. It is in the page's URL, so that a reload, a second tab and a repeated request are all the
 * same form, which buys once.
 */
import { useSearchParams } from 'wouter';

const KEY = /^console_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const newFormKey = (): string => `console_${crypto.randomUUID()}`;

interface FormKey {
  /** Undefined while the form is closed. */
  readonly key: string | undefined;
  readonly open: () => void;
  readonly close: () => void;
}

export function useFormKey(name: 'buy' | 'extend'): FormKey {
  const [search, setSearch] = useSearchParams();
  const given = search.get(name) ?? '';
  const others = [...search].filter(([other]) => other !== name);
  return {
    key: KEY.test(given) ? given : undefined,
    open: () => setSearch([...others, [name, newFormKey()]]),
    close: () => setSearch(others, { replace: true }),
  };
}
