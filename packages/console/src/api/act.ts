/** The state of one user action: running, failed or idle. */
import { useRef, useState } from 'react';

export interface Act<Input> {
  readonly isUnderWay: boolean;
  readonly failure: unknown;
  readonly run: (input: Input) => void;
  readonly reset: () => void;
}

/**
 * Runs one action at a time: a second press while one runs is ignored. `act` may set state of its own when it finishes.
 */
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
