import { jest } from '@jest/globals';
import { Screen } from '../../../packages/local/src/screen.js';

const shown: string[] = [];

beforeEach(() => {
  shown.length = 0;
  jest.spyOn(console, 'log').mockImplementation((text: string) => void shown.push(...text.split('\n')));
});
afterEach(() => jest.restoreAllMocks());

it('keeps the lines of the demo within 80 columns, without loss', () => {
  const screen = new Screen();
  const words = 'the pool has staked and its hot keys may delegate and undelegate and nothing else in the world';
  screen.setChainTime(0);
  screen.title(words);
  screen.step(words);
  screen.done(words);
  screen.request(words);
  screen.detail('said', words);
  screen.detail('transaction', 'f'.repeat(64));
  expect(Math.max(...shown.map(({ length }) => length))).toBe(80);
  const text = shown.join(' ').replaceAll(/\s+/g, ' ');
  expect(text.split('the pool').length - 1).toBe(5);
  expect(text.split('in the world').length - 1).toBe(5);
  expect(text).toContain('f'.repeat(64));
});
