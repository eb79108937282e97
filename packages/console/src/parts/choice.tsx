/** One option of a radio group, with its explanation. */
interface ChoiceProps {
  /** Name of the radio group. */
  readonly name: string;
  readonly word: string;
  readonly note: string;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

export function Choice({ name, word, note, isChosen, onChoose }: ChoiceProps) {
  return (
    <label className="choice">
      <input type="radio" name={name} checked={isChosen} onChange={onChoose} />
      <span>
        {word}
        <span className="dim">{note}</span>
      </span>
    </label>
  );
}
