/** Switch between the light, dark and system theme. */
import { useMantineColorScheme, type MantineColorScheme } from '@mantine/core';
import { COMMON } from '../text/common.js';

const CHOICES = ['auto', 'light', 'dark'] as const satisfies readonly MantineColorScheme[];

export function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <label className="theme-switch">
      <span>{COMMON.theme.label}</span>
      <select
        value={colorScheme}
        onChange={(event) => {
          const chosen = CHOICES.find((choice) => choice === event.currentTarget.value);
          if (chosen !== undefined) setColorScheme(chosen);
        }}
      >
        {CHOICES.map((choice) => (
          <option key={choice} value={choice}>
            {COMMON.theme[choice]}
          </option>
        ))}
      </select>
    </label>
  );
}
