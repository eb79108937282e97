/** The project in the page's path, and the paths to its pages and data. */
import { createContext, useContext } from 'react';
import type { ProjectMembership } from '../../../../src/modules/console/api-shapes.js';

/** A merchant has a membership of the project; an operator sees any project without one. */
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

/** Returns the path of a project page; it is the same for both audiences. */
export function pathOf(projectId: string, rest = ''): string {
  return `/p/${projectId}${rest}`;
}

/**
 * Returns the path of an order's page. Encodes dots: the server would take a dot in the last segment for a file
 * extension.
 */
export function orderPath(projectId: string, key: string): string {
  return pathOf(projectId, `/orders/${encodeURIComponent(key).replaceAll('.', '%2E')}`);
}
