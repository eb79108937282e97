/** List filters. They live in the page's URL, so that a link reproduces the list. */
import { Button, Checkbox, TextInput } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useSearchParams } from 'wouter';
import { useIsNarrow } from './narrow.js';
import { COMMON } from '../text/common.js';

export interface FilterField<Name extends string> {
  readonly name: Name;
  readonly label: string;
  /** Options with their labels. Without options the field is a text input. */
  readonly choices?: readonly (readonly [value: string, word: string])[];
  readonly isDay?: boolean;
  /** A checkbox: `true` if it is ticked. */
  readonly isSwitch?: boolean;
  readonly isWide?: boolean;
  readonly lengthMax?: number;
}

type Filtered<Name extends string> = Readonly<Record<Name, string>>;

/** Returns the filters from the page's URL; missing ones are empty. */
export function useFiltered<Name extends string>(names: readonly Name[]): Filtered<Name> {
  const [search] = useSearchParams();
  return Object.fromEntries(names.map((name) => [name, search.get(name) ?? ''])) as Filtered<Name>;
}

export const isFilteredBy = (given: Readonly<Record<string, string>>): boolean =>
  Object.values(given).some((value) => value !== '');

interface FilterProps<Name extends string> {
  /** Name of the filtered list. */
  readonly legend: string;
  readonly fields: readonly FilterField<Name>[];
}

export function Filter<Name extends string>({ legend, fields }: FilterProps<Name>) {
  const given = useFiltered(fields.map(({ name }) => name));
  // Remounts when a search or a back navigation changes the URL.
  return <Fields key={Object.values(given).join(' ')} legend={legend} fields={fields} given={given} />;
}

interface FieldsProps<Name extends string> extends FilterProps<Name> {
  readonly given: Filtered<Name>;
}

function Fields<Name extends string>({ legend, fields, given }: FieldsProps<Name>) {
  const [, setSearch] = useSearchParams();
  const [typed, setTyped] = useState(given);
  const isFiltered = isFilteredBy(given);
  const isNarrow = useIsNarrow();
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    const named = fields.map(({ name }) => [name, typed[name].trim()] as const);
    setSearch(Object.fromEntries(named.filter(([, value]) => value !== '')));
  };
  // Collapsed on narrow screens, which it would fill, unless a filter is active.
  return (
    <details className="filter-fold" open={isFiltered || !isNarrow}>
      <summary>{legend}</summary>
      <form className="filter" onSubmit={apply} aria-label={legend}>
        {fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={typed[field.name]}
            onChange={(value) => setTyped({ ...typed, [field.name]: value })}
          />
        ))}
        <Button type="submit" variant="default">
          {COMMON.filter.apply}
        </Button>
        {isFiltered && (
          <button type="button" className="link-button" onClick={() => setSearch({})}>
            {COMMON.filter.clear}
          </button>
        )}
      </form>
    </details>
  );
}

interface FieldProps {
  readonly field: FilterField<string>;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function Field({ field: { label, choices, isDay, isSwitch, isWide, lengthMax }, value, onChange }: FieldProps) {
  if (isSwitch === true) {
    return (
      <Checkbox
        label={label}
        checked={value === 'true'}
        onChange={({ currentTarget }) => onChange(currentTarget.checked ? 'true' : '')}
      />
    );
  }
  if (choices !== undefined) {
    return (
      <label className="filter-field">
        <span>{label}</span>
        <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="">{COMMON.filter.any}</option>
          {choices.map(([choice, word]) => (
            <option key={choice} value={choice}>
              {word}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <TextInput
      label={label}
      className={isWide === true ? 'filter-wide' : 'filter-short'}
      autoComplete="off"
      spellCheck={false}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      {...(isDay === true && { type: 'date' })}
      {...(lengthMax !== undefined && { maxLength: lengthMax })}
    />
  );
}
