/** One act at a time: under way, refused or done. */
import { useRef, useState } from 'react';

export interface Act<Input> {
  readonly isUnderWay: boolean;
  readonly failure: unknown;
  readonly run: (input: Input) => void;
  readonly reset: () => void;
}

/** `act` may set state of its own when it is through; a second press while the first is under way does nothing. */
export function useAct<Input = void>(act: (input: Input) => Promise<void>): Act<Input> {
  const [isUnderWay, setUnderWay] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const busy = useRef(false);
  const run = (input: Input) => {
    if (busy.current) return;
    busy.current = true;
    setUnderWay(true);
    setFailure(null);
    act(input)
      .catch((thrown: unknown) => setFailure(thrown))
      .finally(() => {
        busy.current = false;
        setUnderWay(false);
      });
  };
  return { isUnderWay, failure, run, reset: () => setFailure(null) };
}
