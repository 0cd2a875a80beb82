/** What a key may be allowed to do. A new key has all of them unless told otherwise. */
export const SCOPES = ['pets:read', 'pets:write', 'orders:read', 'orders:write'] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(value: string): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
