// Fails where one of the newest commits has no Conventional Commits subject of at most 72 characters. Does nothing outside
// a git repository. Usage: node scripts/check-commits.mjs
import { execFileSync } from 'node:child_process';

const NEWEST = 10;
const SUBJECT_LENGTH_MAX = 72;
const SUBJECT = /^(?:build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(?:\([a-z0-9-]+\))?!?: \S/;
const MERGE = /^Merge /;

function subjects() {
  try {
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['log', `-${String(NEWEST)}`, '--format=%h %s'], options)
      .trim()
      .split('\n');
  } catch {
    return [];
  }
}

for (const line of subjects()) {
  const subject = line.slice(line.indexOf(' ') + 1);
  if (MERGE.test(subject) || (SUBJECT.test(subject) && subject.length <= SUBJECT_LENGTH_MAX)) continue;
  console.log(`${line}: use a Conventional Commits subject of at most ${String(SUBJECT_LENGTH_MAX)} characters`);
  process.exitCode = 1;
}
