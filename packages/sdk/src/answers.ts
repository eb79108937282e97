// Recognises the answer to a call. A proxy may answer 200 with a page or a body of its own, which has other members.

type IsAnswer = (body: object) => boolean;

/** Returns a check for a body that has this member. */
export const hasMember =
  (name: string): IsAnswer =>
  (body) =>
    Object.hasOwn(body, name);

/** True for one page of a list. */
export const isList: IsAnswer = (body) => 'items' in body && Array.isArray(body.items);
