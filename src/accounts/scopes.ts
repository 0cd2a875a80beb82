/** The scopes of a key. A new key has all of them unless `--scopes` names some. */
export const SCOPES = ['pets:read', 'pets:write', 'orders:read', 'orders:write'] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(value: string): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
