/** Confirmation of a dangerous action by typing a name. */
import { Button, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Act } from '../api/act.js';
import { COMMON } from '../text/common.js';
import { CONFIRM } from '../text/confirm.js';
import { Dialog } from './dialog.js';
import { Form } from './form.js';

interface TypedProps {
  readonly title: string;
  readonly name: string;
  readonly submit: string;
  readonly act: Act<void>;
  readonly onClose: () => void;
  /** Further fields, above the name. */
  readonly fields?: ReactNode;
  /** False while a further field lacks its value. */
  readonly isReady?: boolean;
  readonly children: ReactNode;
}

export function TypeToConfirm({ title, name, submit, act, onClose, fields, isReady = true, children }: TypedProps) {
  const [typed, setTyped] = useState('');
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Form
        act={act}
        submit={submit}
        isDangerous
        isReady={isReady && typed.trim() === name}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        {fields}
        <TextInput
          label={CONFIRM.type(name)}
          autoComplete="off"
          spellCheck={false}
          autoFocus={fields === undefined}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
}
