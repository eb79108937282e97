/** Bars above the pages of a project: a test project, and for operators a freeze with its author and reason. */
import { Link } from 'wouter';
import { useOperatorProject } from '../api/operator-project.js';
import { Moment } from '../parts/figures.js';
import { Icon } from '../parts/icons.js';
import { COMMON } from '../text/common.js';
import { FREEZE } from '../text/freeze.js';
import { pathOf, type ProjectOnPage } from './project.js';

interface ProjectBarsProps {
  readonly project: ProjectOnPage;
  readonly isOperator: boolean;
}

export function ProjectBars({ project, isOperator }: ProjectBarsProps) {
  // An operator has no membership that carries the flag of a test project, so the project is read.
  const { data } = useOperatorProject(project.id, isOperator);
  const isTest = isOperator ? data?.test : project.membership?.test;
  const { frozen_by: by } = data ?? {};
  return (
    <>
      {isTest === true && (
        <p className="test-ribbon">
          <Icon name="info" /> {COMMON.test}
        </p>
      )}
      {data?.frozen === true && (
        <p className="offline-bar">
          <Icon name="warn" />
          <span>
            <strong>{FREEZE.isFrozen}</strong>{' '}
            {by !== undefined && (
              <>
                <span>{FREEZE.by(by.actor, by.reason)}</span> <Moment at={by.at} />{' '}
              </>
            )}
            <Link href={pathOf(project.id, '/settings/project')}>{FREEZE.toSettings}</Link>
          </span>
        </p>
      )}
    </>
  );
}
