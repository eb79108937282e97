/** The project of the page's path, and paths to its pages and data. */
import { createContext, useContext } from 'react';
import type { ProjectMembership } from '../../../../src/console/api-shapes.js';

/** Of a merchant a membership; an operator sees any project by its id alone. */
export interface ProjectOnPage {
  readonly id: string;
  readonly membership: ProjectMembership | undefined;
}

export const ProjectContext = createContext<ProjectOnPage | undefined>(undefined);

export function useProject(): ProjectOnPage & { readonly api: string; readonly isOwner: boolean } {
  const project = useContext(ProjectContext);
  if (project === undefined) throw new Error('a page of a project without one');
  return { ...project, api: `/api/projects/${project.id}`, isOwner: project.membership?.role === 'owner' };
}

/** Where the pages of a project are; the same for both audiences. */
export function pathOf(projectId: string, rest = ''): string {
  return `/p/${projectId}${rest}`;
}

/** A dot in a path's last part would be taken for a file's ending. */
export function orderPath(projectId: string, key: string): string {
  return pathOf(projectId, `/orders/${encodeURIComponent(key).replaceAll('.', '%2E')}`);
}
