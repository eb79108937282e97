/** A project as an operator sees it, from outside of its own data. */
import type { ProjectLine } from '../../../../src/modules/console/operator-shapes.js';
import { useReadEvery } from './project-data.js';

const EVERY_MS = 60_000;

/** Polls, because another admin may freeze the project meanwhile. */
export function useOperatorProject(id: string, isOperator: boolean) {
  return useReadEvery<ProjectLine>(['operator-project', id], `/api/operator/projects/${id}`, EVERY_MS, isOperator);
}
