/** Input for the daily spending cap of an address, in dollars. */
import { TextInput } from '@mantine/core';
import { dollarsTyped } from '../../../../../src/domain/typed-amount.js';
import { AUTO } from '../../text/auto-delegation.js';

interface CapProps {
  readonly value: string;
  readonly onType: (value: string) => void;
  readonly isFirst?: boolean;
}

export function CapField({ value, onType, isFirst = false }: CapProps) {
  const { value: cap, fault } = dollarsTyped(value);
  return (
    <TextInput
      label={AUTO.form.cap}
      description={AUTO.form.capHelp}
      required
      autoFocus={isFirst}
      inputMode="decimal"
      autoComplete="off"
      error={value !== '' && (cap === 0n ? AUTO.form.capBad : fault)}
      value={value}
      onChange={(event) => onType(event.currentTarget.value)}
    />
  );
}
