/** A secret that is shown once. The dialog closes only after the user confirms to have stored it. */
import { Button, Checkbox } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { SECRET } from '../text/secret.js';
import { CopyButton } from './copy.js';
import { Dialog } from './dialog.js';
import { Notice } from './notice.js';

interface SecretProps {
  readonly title: string;
  readonly secret: string;
  /** The secret is a link for another person, not a program's secret. */
  readonly isLink?: boolean;
  readonly children?: ReactNode;
  readonly onDone: () => void;
}

export function SecretOnce({ title, secret, isLink = false, children, onDone }: SecretProps) {
  const [isKept, setKept] = useState(false);
  return (
    <Dialog title={title} onClose={() => undefined} isFirm>
      <Notice tone="warn">{isLink ? SECRET.linkOnce : SECRET.once}</Notice>
      <p className="boxed mono secret" data-secret>
        {secret}
      </p>
      <CopyButton
        text={secret}
        name={isLink ? SECRET.linkName : SECRET.name}
        label={isLink ? SECRET.linkCopy : SECRET.copy}
      />
      {children}
      <Checkbox
        label={isLink ? SECRET.linkKept : SECRET.kept}
        checked={isKept}
        onChange={(event) => setKept(event.currentTarget.checked)}
      />
      <div className="form-actions">
        <Button
          onClick={() => {
            if (isKept) onDone();
          }}
          {...(!isKept && { 'aria-disabled': true, 'data-disabled': true })}
        >
          {SECRET.done}
        </Button>
      </div>
    </Dialog>
  );
}
