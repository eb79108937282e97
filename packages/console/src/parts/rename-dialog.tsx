/** A dialog that renames something; the current name is prefilled. */
import { Button, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useAct } from '../api/act.js';
import { COMMON } from '../text/common.js';
import { Dialog } from './dialog.js';
import { Form } from './form.js';
import { announce } from './live.js';

interface RenameProps {
  readonly title: string;
  readonly help: string;
  readonly name: string;
  readonly maxLength: number;
  /** Saves the name and re-reads the data that shows the old one. */
  readonly save: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

export function RenameDialog({ title, help, name, maxLength, save, onClose }: RenameProps) {
  const [typed, setTyped] = useState(name);
  const wanted = typed.trim();
  const act = useAct(async () => {
    await save(wanted);
    announce(COMMON.rename.done(wanted));
    onClose();
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        act={act}
        submit={COMMON.rename.submit}
        isReady={wanted !== '' && wanted !== name}
        beside={
          <Button variant="default" onClick={onClose}>
            {COMMON.cancel}
          </Button>
        }
      >
        <TextInput
          label={COMMON.rename.label}
          description={help}
          required
          autoFocus
          autoComplete="off"
          maxLength={maxLength}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </Form>
    </Dialog>
  );
}
