/** The scope of administration. No key has it unless its creator names it. */
export const ADMIN_SCOPE = 'admin';

export type DefinedScope = `${string}:${string}` | typeof ADMIN_SCOPE;

/**
 * Defines the scopes of an extension: `defineScopes('pets', 'read', 'write')` is `{ read: 'pets:read', write: 'pets:write' }`.
 *
 * @param name the name of the extension
 */
export function defineScopes<const Name extends string, const Action extends string>(
  name: Name,
  ...actions: readonly Action[]
): { readonly [Each in Action]: `${Name}:${Each}` };
export function defineScopes(name: string, ...actions: readonly string[]): Record<string, DefinedScope> {
  return Object.fromEntries(actions.map((action) => [action, `${name}:${action}` as const]));
}
