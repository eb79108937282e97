/** Switch between local time, UTC and both. */
import { chooseTimes, TIME_CHOICES, useTimeChoice } from '../parts/time-choice.js';
import { COMMON } from '../text/common.js';

export function TimeSwitch() {
  const chosen = useTimeChoice();
  return (
    <label className="theme-switch">
      <span>{COMMON.times.label}</span>
      <select
        value={chosen}
        onChange={(event) => {
          const wanted = TIME_CHOICES.find((choice) => choice === event.currentTarget.value);
          if (wanted !== undefined) chooseTimes(wanted);
        }}
      >
        {TIME_CHOICES.map((choice) => (
          <option key={choice} value={choice}>
            {COMMON.times[choice]}
          </option>
        ))}
      </select>
    </label>
  );
}
