/** A form: Enter submits it, its button shows progress, and an error appears above the button. */
import { Button } from '@mantine/core';
import type { SubmitEvent, ReactNode } from 'react';
import type { Act } from '../api/act.js';
import { useIsOnline } from '../api/reach.js';
import { ActFailure } from './notice.js';

interface FormProps {
  readonly act: Pick<Act<void>, 'isUnderWay' | 'failure' | 'run'>;
  readonly submit: string;
  readonly isDangerous?: boolean;
  readonly isReady?: boolean;
  /** Further buttons next to the submit button. */
  readonly beside?: ReactNode;
  readonly children: ReactNode;
}

export function Form({ act, submit, isDangerous = false, isReady = true, beside, children }: FormProps) {
  const isOnline = useIsOnline();
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) act.run();
  };
  return (
    <form className="form" onSubmit={send} noValidate>
      {children}
      <ActFailure failure={act.failure} />
      <div className="form-actions">
        <Button
          type="submit"
          loading={act.isUnderWay}
          {...(isDangerous && { color: 'red.9' })}
          {...(!isReady && { 'aria-disabled': true, 'data-disabled': true })}
          {...(!isOnline && { 'data-offline': true })}
        >
          {submit}
        </Button>
        {beside}
      </div>
    </form>
  );
}
