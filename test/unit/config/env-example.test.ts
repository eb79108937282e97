// .env.example compared with the code that reads the variables.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readConfig, SECRET_SETTINGS } from '../../../src/platform/config/config.js';
import { passwordSetting } from '../../../src/modules/operator/role-logins.js';
import { ALL_ROLES } from '../../../src/platform/database/roles.js';

const lines = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8').split('\n');

interface Line {
  readonly name: string;
  readonly value: string;
  readonly isRequired: boolean;
  readonly comment: string;
}

const variables: Line[] = lines.flatMap((line, index) => {
  const match = /^(# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line);
  if (!match) return [];
  return [{ name: match[2]!, value: match[3]!, isRequired: match[1] === undefined, comment: lines[index - 1] ?? '' }];
});

/** Variables of the signer process, which reads no others. */
const SIGNER_ONLY = [
  'SIGNER_WALLETS_FILE',
  'SIGNER_SOCKET_MODE',
  'SIGNER_STATE_FILE',
  'SIGNER_CLOCK',
  'SIGNER_EXPIRATION_MAX_SEC',
];
/** Variables that only the sender reads, beside the shared ones. */
const SENDER_ONLY = [
  'WEBHOOK_DNS_SERVERS',
  'WEBHOOK_CA_FILE',
  'SENDER_CONCURRENCY',
  'SENDER_LEASE_SEC',
  'SENDER_STOP_SEC',
];
/** Variables that only a console reads, beside the shared ones. */
const CONSOLE_ONLY = [
  ...['CONSOLE_AUDIENCE', 'CONSOLE_URL', 'CONSOLE_PASSWORD_COST', 'CONSOLE_STOP_SEC', 'EXPLORER_URL'],
  ...['APPROVAL_CREDITS', 'CHECK_NODE_URL', 'OPERATOR_CONTACT', 'MAIL_FROM', 'SMTP_URL', 'SMTP_URL_FILE'],
];
/** Variables that only `migrate roles --login` reads. */
const PASSWORDS = ALL_ROLES.map(passwordSetting);
const MASTER_KEY = randomBytes(32).toString('base64');

function namesThatConfigReads(): string[] {
  const seen = new Set<string>();
  const env = new Proxy<Record<string, string>>({}, { get: (_env, name) => void seen.add(String(name)) });
  expect(() => readConfig(env)).toThrow('is required');
  return [...seen].sort();
}

function environment(some: readonly Line[]): Record<string, string> {
  return { ...Object.fromEntries(some.map(({ name, value }) => [name, value])), MASTER_KEY };
}

it('names every setting once and no other, and the secret files in its first lines', () => {
  const files = [...SECRET_SETTINGS].map((name) => `${name}_FILE`);
  const names = [...variables.map(({ name }) => name), ...files];
  expect(names.sort()).toEqual(
    [...namesThatConfigReads(), ...SIGNER_ONLY, ...SENDER_ONLY, ...CONSOLE_ONLY, ...PASSWORDS].sort(),
  );
});

it('explains each setting on the line above', () => {
  for (const { comment } of variables) expect(comment).toMatch(/^# [A-Za-z0-9].{9,}/);
});

it('marks exactly the secrets', () => {
  const marked = variables.filter(({ comment }) => comment.startsWith('# Secret. ')).map(({ name }) => name);
  expect(marked.sort()).toEqual([...SECRET_SETTINGS].sort());
});

it('leaves exactly the required settings uncommented', () => {
  for (const { name } of variables.filter(({ isRequired }) => isRequired)) {
    const without = environment(variables.filter((variable) => variable.isRequired && variable.name !== name));
    if (name === 'MASTER_KEY') delete without['MASTER_KEY'];
    expect(() => readConfig(without)).toThrow(name);
  }
});

it('shows the actual defaults', () => {
  const required = variables.filter(({ isRequired }) => isRequired);
  expect(readConfig(environment(variables))).toEqual(readConfig(environment(required)));
});
