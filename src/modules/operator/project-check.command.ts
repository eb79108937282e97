/** `project check`: the automatic part of the going-live checklist. Changes nothing. */
import type { Command } from 'commander';
import { nowMs } from '../../platform/support/clock.js';
import { checkProject } from '../diagnostics/project-check.js';
import { readProject } from '../diagnostics/project-records.js';
import { OperatorError } from '../../domain/operator-error.js';
import { ApiKeys } from '../projects/api-keys.js';
import { Projects } from '../projects/projects.js';
import { Database } from '../../platform/database/database.js';
import { Webhooks } from '../webhooks/webhooks.js';
import { merchantArg } from './arguments.js';
import type { CliContext } from './cli-context.js';
import { findingText } from './finding-text.js';

const HELP = `
ok: correct. look: works; check that it is intended. missing: fix it before
going live. docs/going-live.md has the full checklist.`;
const MARK_COLUMNS = 'missing'.length;

export function addProjectCheck(project: Command, context: CliContext): void {
  project
    .command('check <merchant>')
    .description('check whether a project is ready to go live; exit code 1 if not')
    .addHelpText('after', HELP)
    .action(async (merchant: string) => {
      const id = merchantArg(merchant);
      const findings = await context.operate(async (parts) => {
        const view = await parts.get(Projects).get(id);
        return checkProject({
          project: view,
          keys: await parts.get(ApiKeys).list(id),
          webhooks: await parts.get(Webhooks).list(id),
          read: await readProject(parts.get(Database), id),
          nowMs: nowMs(),
        });
      });
      const wanting = findings.filter(({ state }) => state === 'missing').length;
      const text = findings.map((finding) => findingText(finding.state.padEnd(MARK_COLUMNS), finding)).join('\n');
      context.print(text, { ok: wanting === 0, findings });
      if (wanting > 0) throw new OperatorError(`${wanting.toString()} to fix.`, 1, 'MISSING');
    });
}
