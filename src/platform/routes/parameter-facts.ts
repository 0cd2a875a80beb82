import type { DefinedError } from '../errors/define-errors';

/** The facts that the parameters of a handler add to its `@Operation`. */
export interface ParameterFacts {
  /** The descriptions of the int64 parameters of the path by name. */
  readonly pathIds?: Readonly<Record<string, string>>;
  readonly rejects?: readonly DefinedError[];
  /** The index of the parameter with `@IfMatch()`. */
  readonly precondition?: number;
  /** The index of the parameter with `@Transaction()`. */
  readonly transaction?: number;
}

const PARAMETERS = Symbol('parameters');

/** Adds facts to a handler. Decorators of parameters run from the last one to the first, before those of the method. */
export function addParameterFacts(target: object, key: string | symbol, facts: ParameterFacts): void {
  const known = parameterFactsOf(target, key);
  const merged: ParameterFacts = {
    ...known,
    ...facts,
    pathIds: { ...facts.pathIds, ...known.pathIds },
    rejects: [...(facts.rejects ?? []), ...(known.rejects ?? [])],
  };
  Reflect.defineMetadata(PARAMETERS, merged, target, key);
}

export function parameterFactsOf(target: object, key: string | symbol): ParameterFacts {
  return Reflect.getOwnMetadata(PARAMETERS, target, key) ?? {};
}
